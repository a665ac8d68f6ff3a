//! Tables of other programs get a verdict: the real program on texts as they print them.

use std::{fmt::Write, fs, path::Path, process::Command};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const HOSTS: usize = 10;

/// The host that is slow.
const SLOW: usize = 4;

/// Rates in MB/s, `[source][destination]`: what goes to one host has half of it.
fn rates() -> Vec<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let usual = (0..HOSTS * HOSTS).map(|_| 11_000.0 * rng.random_range(0.99..1.01));
    usual.enumerate().map(|(place, rate)| if place % HOSTS == SLOW { rate / 2.0 } else { rate }).collect()
}

fn mpigraph() -> String {
    let mut text =
        "START mpiGraph v1.5\nMsg Size: 4194304 Bytes\nIterations: 129\nWindow Size: 64\nProcs: 10\n\n".to_owned();
    let names: String = (0..HOSTS).map(|rank| format!("n{rank:03}:{rank:<5}\t")).collect();
    for (title, word) in [("Send", "to"), ("Recv", "from")] {
        writeln!(text, "{title:<19}\t{names}").unwrap();
        for row in 0..HOSTS {
            write!(text, "n{row:03}:{row:<5} {word:>4}\t").unwrap();
            for column in 0..HOSTS {
                let place = if word == "to" { row * HOSTS + column } else { column * HOSTS + row };
                write!(text, "{:<15.3}\t", if row == column { 0.0 } else { rates()[place] }).unwrap();
            }
            text.push('\n');
        }
    }
    text + "END mpiGraph\n"
}

fn nxnlatbw() -> String {
    let mut text = "src,dst,lat(us),bandwidth((Mbytes/sec)\n".to_owned();
    for (place, rate) in rates().into_iter().enumerate().filter(|(place, _)| place / HOSTS != place % HOSTS) {
        writeln!(text, "{},{},{:.2},{rate:.6} ", place / HOSTS, place % HOSTS, 1.5 + (place % 3) as f64 / 100.0)
            .unwrap();
    }
    text
}

fn call(folder: &Path, arguments: &str) -> (i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_network_analyze"));
    let output = command.args(arguments.split(' ')).current_dir(folder).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap(), String::from_utf8(text).unwrap())
}

#[test]
fn the_slow_host_of_an_old_table_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    for (name, text, host) in [("graph.out", mpigraph(), "n004"), ("matrix.csv", nxnlatbw(), "rank4")] {
        fs::write(path.join(name), text).unwrap();
        let (code, said) = call(path, &format!("diagnose {name}"));
        assert_eq!(code, 1, "{said}");
        assert!(said.contains("findings=1") && said.contains(&format!("worst={host}")), "{said}");
        assert!(said.contains("receives") && said.contains("stands for the median"), "{said}");
        // It is a run like any other.
        let (code, said) = call(path, &format!("convert {name} -o of_{host}"));
        assert_eq!(code, 0, "{said}");
        let (code, said) = call(path, &format!("compare {name} of_{host} --format json"));
        assert_eq!(code, 0, "{said}");
    }
    let (code, said) = call(path, "info graph.out");
    assert!(code == 0 && said.contains("mpiGraph v1.5") && said.contains("129 per cell"), "{said}");
}

#[test]
fn a_table_without_pairs_is_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let text = "# OSU MPI Multiple Bandwidth / Message Rate Test v5.9\n# [ pairs: 8 ] [ window size: 64 ]\n1 2.0 3.0\n";
    fs::write(folder.path().join("osu.txt"), text).unwrap();
    let (code, said) = call(folder.path(), "diagnose osu.txt");
    assert!(code == 3 && said.contains("`osu.txt`, line 2") && said.contains("8 pairs ran at once"), "{said}");
}
