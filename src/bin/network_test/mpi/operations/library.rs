//! The collective calls of the MPI library, which Barnat's lecture calls primitives, with their results checked.
//!
//! Blocks of bytes hold what tells their owner and their target; blocks of doubles hold whole numbers, so that sums are
//! exact in any order.

use mpi::{
    collective::SystemOperation,
    traits::{Communicator, CommunicatorCollectives, Root},
};
use netmatrix::plan::operation::Algorithm;

use super::{
    super::{buffer::touched, ffi::MpiError},
    Carried, Stage, mark, summand,
};

/// A call with the buffers of one length.
pub(super) struct Library {
    algorithm: Algorithm,
    data: Data,
}

/// What is sent, and what comes.
enum Data {
    Bytes { out: Vec<u8>, into: Vec<u8>, block: usize },
    Doubles { out: Vec<f64>, into: Vec<f64>, block: usize },
}

impl Library {
    /// With blocks of `length` bytes. The error is the number of bytes that are not there.
    pub(super) fn new(algorithm: Algorithm, stage: &Stage<'_>, length: usize) -> Result<Self, u64> {
        let (me, procs) = (stage.me, stage.procs);
        let root = me == 0;
        let bytes = |out: usize, into: usize| -> Result<Data, u64> {
            Ok(Data::Bytes { out: touched(out * length, 0)?, into: touched(into * length, 0)?, block: length })
        };
        let elements = length / size_of::<f64>();
        let doubles = |out: usize| -> Result<Data, u64> {
            let mut values = touched(out * elements, 0.0)?;
            values.iter_mut().enumerate().for_each(|(place, value)| *value = summand(me, place));
            Ok(Data::Doubles { out: values, into: touched(elements, 0.0)?, block: elements })
        };
        let mut data = match algorithm {
            Algorithm::Reduce | Algorithm::Allreduce | Algorithm::Scan => doubles(1)?,
            Algorithm::ReduceScatter => doubles(procs)?,
            Algorithm::Allgather => bytes(1, procs)?,
            Algorithm::Alltoall => bytes(procs, procs)?,
            Algorithm::Scatter => bytes(if root { procs } else { 0 }, 1)?,
            Algorithm::Gather => bytes(1, if root { procs } else { 0 })?,
            // A broadcast has its message in `into` on all processes.
            Algorithm::Bcast | Algorithm::OneToAllBroadcast => bytes(0, 1)?,
            _ => bytes(0, 0)?,
        };
        if let Data::Bytes { out, block, .. } = &mut data {
            for (to, piece) in out.chunks_mut((*block).max(1)).enumerate() {
                piece.fill(mark(
                    me,
                    if algorithm == Algorithm::Allgather || algorithm == Algorithm::Gather { 0 } else { to },
                ));
            }
        }
        Ok(Self { algorithm, data })
    }
}

impl Carried for Library {
    fn before(&mut self, stage: &Stage<'_>) -> Result<(), MpiError> {
        match &mut self.data {
            Data::Doubles { into, .. } => into.fill(f64::NAN),
            Data::Bytes { into, .. } => {
                let has_it = stage.me == 0 && matches!(self.algorithm, Algorithm::Bcast | Algorithm::OneToAllBroadcast);
                into.fill(if has_it { mark(0, 0) } else { 0 });
            }
        }
        Ok(())
    }

    fn carry_out(&mut self, stage: &Stage<'_>) -> Result<(), MpiError> {
        let (comm, root) = (stage.comm, stage.me == 0);
        let first = comm.process_at_rank(0);
        match &mut self.data {
            Data::Doubles { out, into, .. } => match self.algorithm {
                Algorithm::Reduce if root => first.reduce_into_root(&out[..], &mut into[..], SystemOperation::sum()),
                Algorithm::Reduce => first.reduce_into(&out[..], SystemOperation::sum()),
                Algorithm::Allreduce => comm.all_reduce_into(&out[..], &mut into[..], SystemOperation::sum()),
                Algorithm::Scan => comm.scan_into(&out[..], &mut into[..], SystemOperation::sum()),
                _ => comm.reduce_scatter_block_into(&out[..], &mut into[..], SystemOperation::sum()),
            },
            Data::Bytes { out, into, .. } => match self.algorithm {
                Algorithm::Bcast | Algorithm::OneToAllBroadcast => first.broadcast_into(&mut into[..]),
                Algorithm::Allgather => comm.all_gather_into(&out[..], &mut into[..]),
                Algorithm::Alltoall => comm.all_to_all_into(&out[..], &mut into[..]),
                Algorithm::Scatter if root => first.scatter_into_root(&out[..], &mut into[..]),
                Algorithm::Scatter => first.scatter_into(&mut into[..]),
                Algorithm::Gather if root => first.gather_into_root(&out[..], &mut into[..]),
                Algorithm::Gather => first.gather_into(&out[..]),
                _ => comm.barrier(),
            },
        }
        Ok(())
    }

    fn is_right(&mut self, stage: &Stage<'_>) -> bool {
        let (me, procs) = (stage.me, stage.procs);
        match &self.data {
            Data::Doubles { into, block, .. } => {
                let (from, processes) = match self.algorithm {
                    Algorithm::Reduce if me != 0 => return true,
                    Algorithm::Scan => (0, me + 1),
                    Algorithm::ReduceScatter => (me * block, procs),
                    _ => (0, procs),
                };
                into.iter().enumerate().all(|(place, value)| *value == super::sum(processes, from + place))
            }
            Data::Bytes { into, block, .. } => into.chunks((*block).max(1)).enumerate().all(|(piece, bytes)| {
                let expected = match self.algorithm {
                    Algorithm::Alltoall => mark(piece, me),
                    Algorithm::Scatter => mark(0, me),
                    _ => mark(piece, 0),
                };
                bytes.iter().all(|byte| *byte == expected)
            }),
        }
    }
}
