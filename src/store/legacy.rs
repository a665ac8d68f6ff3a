//! Files of network_tests2, in our words.
//!
//! Three layouts: the classic one (one statistic per file, `test_type` a number), the newer one (`test_type` a text, no
//! noise), and the newer one's file with every single delay (a fourth axis). Hosts stand next to them in a text file.
//!
//! The average of their round trip is half of it, and is doubled on reading; their deviation of it is about the halved
//! average, and stays as it is. Their first axis is the rank whose clock took the time, ours is the source. For
//! messages and broadcasts that is the receiver, so the axes are exchanged on reading; for put, get and the round trip
//! it is the rank that begins, as in ours.

use std::{io::Read, path::Path};

use super::{
    StoreError,
    classic::Kind,
    description::{Description, Values},
    file::NcFile,
    regular,
    schema::*,
};
use crate::{
    plan::{Mode, Noise, Side},
    record::{Header, Provenance, Statistic},
    units::{Bytes, Hosts, check_host_name, counted},
};

/// Their `data_type` of the file with every single delay; ours is the largest.
const ALL_DELAYS: u64 = 5;

/// Bytes that are read for each rank of their text file, in which every rank has a line with a host.
const BYTES_OF_A_HOST: u64 = 1024;

/// Lengths of the longest sweep that their `end` is believed: at a tenth of a second each, a day.
const MOST_LENGTHS: u64 = 1 << 20;

/// Reads the description of a file of theirs. Its hosts are not in it: every rank stands for a host, until
/// [`hosts`] knows better.
pub(super) fn describe(file: &NcFile) -> Result<Description, StoreError> {
    let mode = mode(file)?;
    let data_type = file.needed_number(DATA_TYPE)?;
    let single_delays = data_type == ALL_DELAYS && file.has_dimension(DELAY);
    let statistic = if single_delays {
        Some(Statistic::Median)
    } else {
        i32::try_from(data_type).ok().and_then(Statistic::from_id)
    };
    let statistic = statistic.ok_or_else(|| file.foreign(&format!("its `data_type` is {data_type}")))?;
    file.variable_over(DATA, if single_delays { &[N, X, Y, DELAY] } else { &[N, X, Y] })?;
    let ranks = file.ranks(X)?;
    if file.dimension(Y)? != ranks || file.needed_number(PROC_NUM)? != ranks as u64 {
        return Err(file.unusable("contradicts itself: its dimensions `x` and `y` and its `proc_num` differ"));
    }
    let turned = mode.timed_at() == Side::Destination;
    let [begin, end, step] = [0, 1, 2].map(|k| file.needed_number(BEGIN_END_STEP[k]));
    let (begin, end, step) = (begin?, end?, step?);
    let lengths = lengths(file, begin, step, file.dimension(N)?)?;
    let header = Header {
        mode,
        hosts: Hosts::new((0..ranks).map(|rank| format!("rank{rank}"))),
        planned: planned(file, (begin, end, step), &lengths)?,
        begin_end_step: (Bytes(begin), Bytes(end), Bytes(step)),
        iterations: file.narrow(REPEATS, file.needed_number(REPEATS)?)?,
        noise: Noise {
            length: Bytes(file.number(NOISE[0])?.unwrap_or(0)),
            messages: file.narrow(NOISE[1], file.number(NOISE[1])?.unwrap_or(0))?,
            processes: file.narrow(NOISE[2], file.number(NOISE[2])?.unwrap_or(0))?,
        },
        plan: Default::default(),
        provenance: Provenance { program_version: "network_tests2".to_owned(), ..Provenance::default() },
    };
    // Its round trip keeps half of the average, and the whole of all other statistics (send_recv_and_recv_send2.c).
    let halved = mode == Mode::SendRecvAndRecvSend && statistic == Statistic::Average;
    let values = if single_delays { Values::Delays { turned } } else { Values::Theirs { turned, halved } };
    Ok(Description { header, partners: None, statistic, statistics: None, lengths, values })
}

/// The mode, which is a number in the classic layout and a text in the newer one.
fn mode(file: &NcFile) -> Result<Mode, StoreError> {
    if file.variable(TEST_TYPE)?.kind == Kind::Char {
        let name = file.texts(TEST_TYPE)?.concat();
        return name.parse().map_err(|error| file.unusable(format!("has a `test_type` of its own: {error}")));
    }
    let id = file.needed_number(TEST_TYPE)?;
    let mode = i32::try_from(id).ok().and_then(Mode::from_id);
    mode.ok_or_else(|| file.foreign(&format!("no mode has the `test_type` {id}")))
}

/// The lengths of the records, which only follow from begin and step.
fn lengths(file: &NcFile, begin: u64, step: u64, records: usize) -> Result<Vec<Bytes>, StoreError> {
    if records > 1 && step == 0 {
        return Err(file.unusable(format!("has {records} message lengths, but its `step_length` is 0")));
    }
    let length = |k: u64| Some(Bytes(begin.checked_add(k.checked_mul(step)?)?));
    let lengths: Option<_> = (0..records as u64).map(length).collect();
    lengths.ok_or_else(|| file.unusable("has message lengths beyond 64 bits"))
}

/// The lengths that were to be measured. Their end is not always right: it is believed where it promises more than
/// there is, and corrected where it promises less, or more than anybody measures.
fn planned(file: &NcFile, sweep: (u64, u64, u64), found: &[Bytes]) -> Result<Vec<Bytes>, StoreError> {
    let (begin, end, step) = sweep;
    if step == 0 || end <= begin {
        return Ok(found.to_vec());
    }
    let count = (end - begin).div_ceil(step).max(found.len() as u64);
    if count > MOST_LENGTHS {
        return Ok(found.to_vec());
    }
    lengths(file, begin, step, file.narrow(BEGIN_END_STEP[1], count)?)
}

/// The host of every rank, from their text file. `Err`: why it is of no use, in words.
pub(super) fn hosts(path: &Path, ranks: usize) -> Result<Hosts, String> {
    let mut bytes = Vec::new();
    let most = (ranks as u64).saturating_mul(BYTES_OF_A_HOST);
    let read = regular::open(path).map_err(|error| error.to_string())?.take(most).read_to_end(&mut bytes);
    read.map_err(|error| format!("cannot read `{}`: {error}", path.display()))?;
    let text = String::from_utf8_lossy(&bytes);
    let names: Vec<_> = text.lines().map(str::trim).filter(|name| !name.is_empty()).collect();
    if let Some(error) = names.iter().find_map(|name| check_host_name(name).err()) {
        return Err(format!("in `{}` {error}", path.display()));
    }
    if names.len() == ranks {
        return Ok(Hosts::new(names));
    }
    Err(format!("`{}` names {} for {}", path.display(), counted(names.len(), "host"), counted(ranks, "rank")))
}
