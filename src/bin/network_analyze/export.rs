//! `fit --export`: fitted models as files of SimGrid, LogGOPSim and Open MPI, and a list of hosts.

use std::{io::Write, path::Path};

use netmatrix::{
    analysis::model::{
        export::{self, LogGops, MOST_HOSTS, SimGrid},
        hockney::Distances,
        loggp::LogGp,
        predict::Model,
    },
    exit,
    record::{BoxError, operations::Operations},
    view::model::export as view,
};

use super::{
    diagnose::{CONFIDENCE, judge},
    failure::{Failure, Outcome},
    fit::{Measured, NO_OPERATIONS, hockney_of},
    input::Input,
    output,
};

/// What is exported from where.
pub struct Export<'a> {
    /// As it was typed.
    pub run: &'a Path,
    /// Replace existing files.
    pub force: bool,
}

/// Kinds and the files that they are in a folder.
const KINDS: [(&str, &str); 4] = [
    ("simgrid", "platform.xml"),
    ("loggopsim", "loggopsim.txt"),
    ("openmpi", "openmpi_reduce.conf"),
    ("hosts", "hosts.txt"),
];

/// SimGrid's options, one a line, by version.
const OPTIONS: [(&str, bool); 2] = [("simgrid_3.32.cfg", false), ("simgrid_3.34.cfg", true)];

const NO_PAIRS: &str = "there are no pairs of the same prefix: `network_test -t one_to_one` measures them";

impl Export<'_> {
    /// Writes one kind to standard output, or all that the run has into a folder.
    pub fn run(&self, target: &str) -> Outcome {
        let measured = Measured::open(self.run)?;
        if KINDS.iter().any(|(kind, _)| *kind == target) {
            let text = Self::text(&measured, target)?;
            output::print(|out| out.write_all(&text))?;
            return Ok(exit::SUCCESS);
        }
        let folder = Path::new(target);
        // A mistyped kind is no wish for a folder of its name.
        if !folder.is_dir() && !target.contains('/') && target.chars().all(|c| c.is_ascii_lowercase()) {
            let kinds = KINDS.map(|kind| kind.0).join(", ");
            let text = format!("--export {target}: there is no such kind ({kinds}); a folder is written as ./{target}");
            return Err(Failure::usage(text));
        }
        std::fs::create_dir_all(folder)
            .map_err(|error| Failure::files(format!("cannot make the folder `{}`: {error}", folder.display())))?;
        let mut written = 0;
        for (kind, file) in KINDS {
            match Self::text(&measured, kind) {
                Ok(text) => self.write(&folder.join(file), &text, &mut written)?,
                Err(Failure::Files(error)) => output::note(&format!("no {file}: {error}")),
                Err(other) => return Err(other),
            }
        }
        if let Ok((grid, _)) = Self::grid(&measured) {
            for (file, newer) in OPTIONS {
                let lines: String = view::options(&grid, newer).iter().map(|option| format!("{option}\n")).collect();
                self.write(&folder.join(file), lines.as_bytes(), &mut written)?;
            }
        }
        if written == 0 {
            return Err(Failure::files(format!("nothing could be exported into `{}`", folder.display())));
        }
        Ok(exit::SUCCESS)
    }

    fn write(&self, path: &Path, text: &[u8], written: &mut usize) -> Result<(), Failure> {
        let file = output::begin(path, self.force, &[self.run])?;
        output::finish(file, |out| Ok(out.write_all(text)?))?;
        *written += 1;
        Ok(())
    }

    fn text(measured: &Measured, kind: &str) -> Result<Vec<u8>, Failure> {
        let mut text = Vec::new();
        let out: &mut dyn Write = &mut text;
        let written: Result<(), BoxError> = match kind {
            "simgrid" => {
                let (grid, distances) = Self::grid(measured)?;
                view::write_platform(&grid, &distances, out).map_err(Into::into)
            }
            "loggopsim" => {
                let fits = LogGp::all(operations(measured)?).map_err(Failure::files)?;
                let far = fits.last().ok_or_else(|| Failure::internal("a fit of no class"))?;
                view::write_loggopsim(&LogGops::of(far), out).map_err(Into::into)
            }
            "openmpi" => {
                let run = operations(measured)?;
                let model = LogGp::all(run).ok().map(|fits| Model::new(run.hosts.clone(), fits));
                let rules = export::reduce_rules(run, model.as_ref());
                if rules.is_empty() {
                    let text = "no reduction was measured: `network_test --operations reductions` does it";
                    return Err(Failure::files(text));
                }
                view::write_openmpi(&rules, out).map_err(Into::into)
            }
            _ => {
                let input = pairs(measured)?;
                let distances = Distances::of(&*input.run).map_err(Failure::files)?;
                let hosts = export::ordered_hosts(&input.run.header().hosts, &distances);
                hosts.iter().try_for_each(|host| writeln!(out, "{host}")).map_err(Into::into)
            }
        };
        written.map_err(Failure::internal)?;
        Ok(text)
    }

    fn grid(measured: &Measured) -> Result<(SimGrid, Distances), Failure> {
        let input = pairs(measured)?;
        let run = &*input.run;
        let hosts = &run.header().hosts;
        if hosts.count() > MOST_HOSTS {
            let text = format!(
                "a platform has at most {MOST_HOSTS} hosts, since it lists all routes; the run has {}",
                hosts.count()
            );
            return Err(Failure::files(text));
        }
        input.length_index(None)?;
        let distances = Distances::of(run).map_err(Failure::files)?;
        let hockney = hockney_of(run, |_| Ok(())).map_err(Failure::files)?.map_err(Failure::files)?;
        let fits = measured.operations.as_ref().and_then(|run| LogGp::all(run).ok()).unwrap_or_default();
        let found = judge(&[input], CONFIDENCE, None)?.findings;
        let grid = SimGrid::of(hosts, &distances, &hockney, &fits, &found);
        let text = "no pairs between two hosts were measured at lengths that tell a bandwidth";
        Ok((grid.ok_or_else(|| Failure::files(text))?, distances))
    }
}

fn pairs(measured: &Measured) -> Result<&Input, Failure> {
    measured.pairs.as_ref().ok_or_else(|| Failure::files(NO_PAIRS))
}

fn operations(measured: &Measured) -> Result<&Operations, Failure> {
    measured.operations.as_ref().ok_or_else(|| Failure::files(NO_OPERATIONS))
}
