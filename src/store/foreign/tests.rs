use std::fs;

use super::*;
use crate::{record::Run, store::open_run};

fn read(text: &str) -> Result<OpenedRun, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("printed.out");
    fs::write(&path, text).unwrap();
    open_run(&path).map_err(|error| error.to_string())
}

/// Medians at a length, `[source][destination]`.
fn medians(run: &dyn Run, length: usize) -> Vec<f64> {
    let mut values = vec![0.0; run.ranks() * run.ranks()];
    run.read_rows(Statistic::Median, length, 0..run.ranks(), &mut values).unwrap();
    values
}

/// A table as mpiGraph prints it: `rate(row, column)`.
fn mpigraph_table(title: &str, word: &str, rate: impl Fn(usize, usize) -> f64) -> String {
    let names = ["a", "b", "b"];
    let mut text = format!("{title:<19}\t");
    names.iter().enumerate().for_each(|(rank, name)| text += &format!("{name}:{rank:<5}\t"));
    for (row, name) in names.iter().enumerate() {
        text += &format!("\n{name}:{row:<5} {word:>4}\t");
        (0..3).for_each(|column| text += &format!("{:<15.3}\t", if row == column { 0.0 } else { rate(row, column) }));
    }
    text + "\n"
}

fn mpigraph() -> String {
    let header = "srun: job 7\nSTART mpiGraph v1.5\nMsg Size: 4000000 Bytes\nIterations: 9\nWindow Size: 64\nProcs: 3\n\n\
                  [    1] of 3 (33.3%)\nGathering results ...\n\nSend max:   99.000 MB/s\nSend min:   99.000 MB/s\n\n";
    let sent = mpigraph_table("Send", "to", |_, _| 99.0);
    let received = mpigraph_table("Recv", "from", |row, column| (100 * (row + 1) + 10 * (column + 1)) as f64);
    format!("{header}{sent}\nRecv max:   99.000 MB/s\n\n{received}END mpiGraph\n")
}

#[test]
fn mpigraph_is_read_from_the_side_of_receivers() {
    let OpenedRun { run, notices } = read(&mpigraph()).unwrap();
    assert!(notices[0].contains("mpiGraph v1.5"), "{notices:?}");
    assert_eq!(run.header().hosts.name_of_every_rank().collect::<Vec<_>>(), ["a", "b", "b"]);
    assert_eq!((run.lengths(), run.header().iterations), (&[Bytes(4_000_000)][..], 9));
    // b:2 from a:0 had 310 MB/s: the cell of source 0 and destination 2.
    assert_eq!(medians(&*run, 0)[2], 4.0 / 310.0);
    assert_eq!((medians(&*run, 0)[2 * 3], medians(&*run, 0)[4]), (4.0 / 130.0, 0.0));
}

#[test]
fn older_mpigraph_and_a_text_that_is_cut_off_are_read() {
    let whole = mpigraph().replace("Msg Size: 4000000 Bytes", "MsgSize\t4000000").replace("Iterations: 9", "Times\t9");
    let OpenedRun { run, .. } = read(whole.split("Recv max").next().unwrap()).unwrap();
    assert_eq!(medians(&*run, 0)[1], 4.0 / 99.0);
    let silent = mpigraph().replacen("310.000", "0.000  ", 1);
    assert!(medians(&*read(&silent).unwrap().run, 0)[2].is_nan());
}

#[test]
fn mpi_nxnlatbw_has_two_lengths() {
    let mut text = "src,dst,lat(us),bandwidth((Mbytes/sec)\n".to_owned();
    for (source, destination) in [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0)] {
        text += &format!("{source},{destination},1.5{destination},{}000.500000 \n", source + 1);
    }
    let OpenedRun { run, .. } = read(&text).unwrap();
    assert_eq!(run.lengths(), [Bytes(0), Bytes(4 << 20)]);
    assert!((medians(&*run, 0)[1] - 1.51e-6).abs() < 1e-15);
    assert_eq!(medians(&*run, 1)[3], 4_194_304.0 / 2000.5e6);
    assert!(medians(&*run, 1)[7].is_nan(), "nothing is known of the pair 2, 1");
    assert_eq!(run.header().hosts.names(), ["rank0", "rank1", "rank2"]);
}

#[test]
fn osu_of_one_pair_is_the_way_from_rank_0_to_rank_1() {
    let latency = "# OSU MPI Latency Test v5.9\n# Size          Latency (us)\n0    1.25\n8    1.50\n";
    let OpenedRun { run, .. } = read(latency).unwrap();
    assert_eq!((run.lengths(), run.ranks()), (&[Bytes(0), Bytes(8)][..], 2));
    assert_eq!(medians(&*run, 1)[1], 1.5e-6);
    let rate = "# OSU MPI Multiple Bandwidth / Message Rate Test v5.9\n# [ pairs: 1 ] [ window size: 64 ]\n\
                # Size      MB/s        Messages/s\n1000000    500.00        500.00\n";
    assert_eq!(medians(&*read(rate).unwrap().run, 0)[1], 0.002);
    let many = read(&rate.replace("pairs: 1", "pairs: 15")).err().unwrap();
    assert!(many.contains("line 2") && many.contains("15 pairs") && many.contains("run it with one pair"), "{many}");
    let collective = read("# OSU MPI Allgather Latency Test v5.9\n# Size  Avg Latency(us)\n1   2.0\n").err().unwrap();
    assert!(collective.contains("no single pair"), "{collective}");
}

#[test]
fn tables_that_are_spoilt_say_where() {
    let nxn = "src,dst,lat(us),bandwidth((Mbytes/sec)\n";
    for (text, words) in [
        (mpigraph().replacen("b:1     from", "c:1     from", 1), "is not the row of `b:1`"),
        (mpigraph().replacen("a:0    ", "a:7    ", 1), "has no names `HOST:RANK`"),
        (mpigraph().replacen("99.000         \t", "", 1), "has 2 values"),
        (mpigraph().replacen("99.000         \t", "x\t", 1), "no number"),
        (mpigraph().replace("Msg Size: 4000000 Bytes\n", ""), "size of a message"),
        (mpigraph().split("Send  ").next().unwrap().to_owned(), "ends before its tables"),
        (mpigraph().replace("b:1", "b\u{1b}[31m:1"), "bad header"),
        (nxn.to_owned(), "too few"),
        (format!("{nxn}0,1,1.0,2.0\n0,1,1.0,2.0\n"), "line 3: repeats a pair"),
        (format!("{nxn}0,99999,1.0,2.0\n"), "too few for 100000 ranks"),
        (format!("{nxn}0,1,fast,2.0\n"), "line 2"),
        ("# OSU MPI Latency Test v5\n".to_owned(), "no line of a size"),
        ("# OSU MPI Latency Test v5\n8 1\n4 1\n".to_owned(), "line 3: has a size"),
    ] {
        let error = read(&text).err().unwrap();
        assert!(error.contains(words), "{words}: {error}");
    }
}

#[test]
fn other_files_are_left_to_others() {
    for text in ["", "length,source,destination\n", "\0\0\u{1}", "CDF\u{5}"] {
        let programs: [&dyn Program; 3] = [&MpiGraph, &NxnLatBw, &Osu];
        assert!(!programs.iter().any(|program| program.wrote(text)), "{text:?}");
    }
}
