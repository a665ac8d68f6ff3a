//! Text and CSV.

use proptest::prelude::*;

use super::{round_trip::any_run, *};
use crate::{
    record::{BoxError, Extra},
    store::{self, StoreError},
};

type Write = fn(&dyn Run, &mut dyn std::io::Write) -> Result<(), BoxError>;
type Read = fn(&[u8], &Path) -> Result<MemoryRun, StoreError>;

const FORMS: [(Write, Read); 2] = [
    (store::text::write, |input, path| store::text::read(input, path)),
    (store::csv::write, |input, path| store::csv::read(input, path)),
];

fn text_of(run: &dyn Run, write: Write) -> Vec<u8> {
    let mut text = Vec::new();
    write(run, &mut text).unwrap();
    text
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn text_to_netcdf_to_text_is_the_identity(run in any_run()) {
        let folder = tempfile::tempdir().unwrap();
        let prefix = folder.path().join("run");
        for (write, read) in FORMS {
            let text = text_of(&run, write);
            store::write_run(&read(&text, Path::new("run.txt")).unwrap(), &prefix, true).unwrap();
            let set = store::open(&prefix).unwrap();
            prop_assert_eq!(String::from_utf8(text_of(&set, write)), String::from_utf8(text.clone()));
            let read = read(&text, Path::new("run.txt")).unwrap();
            prop_assert_eq!(everything(&set), everything(&read));
            prop_assert_eq!(set.header(), run.header());
        }
    }
}

#[test]
fn a_text_looks_as_documented() {
    let mut run = run(header(2, &[64]), 0);
    let summary = |v: f64| Summary { min: v, average: v, median: v, max: v, deviation: 0.0 };
    let cells = vec![
        Cell::zero(),
        Cell::measured(summary(1.5e-6), 7, State::Measured),
        Cell::missing(State::TimedOut),
        Cell::zero(),
    ];
    run.push(Bytes(64), cells);
    let text = String::from_utf8(text_of(&run, store::text::write)).unwrap();
    for expected in [
        "# format: network_test.text/1\n# mode: one_to_one\n",
        "\n# plan.seed: 1\n",
        "\n# host: node0\n# host: node1\n\n# length: 64\n# statistic: min\n# unit: s\n0 1.5e-6\nNaN 0\n\n",
        "# statistic: measurements_amount\n# unit: 1\n0 7\n0 0\n\n",
        "# statistic: state\n# unit: 1\n0 0\n7 0\n\n",
    ] {
        assert!(text.contains(expected), "no {expected:?} in\n{text}");
    }
    let csv = String::from_utf8(text_of(&run, store::csv::write)).unwrap();
    let columns = "length,source,destination,source_host,destination_host,min,average,median,max,deviation,\
                   measurements_amount,state,run\n";
    let first = "64,0,0,node0,node0,0,0,0,0,0,0,measured,\"[[\"\"format\"\",\"\"network_test.csv/2\"\"],[\"\"mode\"\"";
    let others = "64,0,1,node0,node1,1.5e-6,1.5e-6,1.5e-6,1.5e-6,0,7,measured,\n\
                  64,1,0,node1,node0,NaN,NaN,NaN,NaN,NaN,0,timed_out,\n";
    assert!(csv.starts_with(&format!("{columns}{first}")) && csv.contains(others), "{csv}");
}

#[test]
fn a_run_of_network_tests2_survives_its_text() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/laptop4/network");
    let set = store::open(&path).unwrap();
    for (write, read) in FORMS {
        assert_eq!(everything(&read(&text_of(&set, write), &path).unwrap()), everything(&set));
    }
}

#[test]
fn names_of_hosts_are_no_formulas_in_a_spreadsheet() {
    let names = ["=HYPERLINK(\"http://x\",\"a, b\")", "+cmd|' /C calc'!A0", "@x", "-1", "'=x", "n#8", "\u{ff1d}1"];
    let header = Header { hosts: Hosts::new(names), ..header(names.len(), &[64]) };
    let run = run(header, 1);
    let bytes = text_of(&run, store::csv::write);
    let mut table = csv::Reader::from_reader(&bytes[..]);
    for record in table.records() {
        let record = record.unwrap();
        assert!(record.iter().all(|cell| !cell.starts_with(['=', '+', '-', '@', '\u{ff1d}'])), "{record:?}");
        assert!(
            names.iter().any(|name| *name == &record[3] || Some(*name) == record[3].strip_prefix('\'')),
            "{record:?}"
        );
    }
    assert_eq!(everything(&store::csv::read(&bytes[..], Path::new("x")).unwrap()), everything(&run));
    // As older programs wrote it.
    let text = String::from_utf8(bytes).unwrap();
    let old = text.replace(",'@x", ",@x").replace(",'-1", ",-1");
    assert_ne!(old, text);
    assert_eq!(everything(&store::csv::read(old.as_bytes(), Path::new("x")).unwrap()), everything(&run));
}

#[test]
fn csv_may_be_reordered_and_thinned_out() {
    let run = run(header(2, &[64]), 1);
    let csv = String::from_utf8(text_of(&run, store::csv::write)).unwrap();
    let (_, rest) = csv.split_once(",measured,").unwrap();
    let head = rest.lines().next().unwrap();
    let head = head.replace("measurements_amount", "").replace("min average median max deviation", "median");
    let text = format!("median,run,destination,source,length\n 5e-6 ,{head},0,1,64\n3e-6,,1,0,64\n");
    let read = store::csv::read(text.as_bytes(), Path::new("x")).unwrap();
    let matrix = read.matrix(Statistic::Median, 0).unwrap();
    assert_eq!((matrix[(1, 0)], matrix[(0, 1)]), (5e-6, 3e-6));
    assert!(matrix[(0, 0)].is_nan() && read.cells(0)[0].state == State::Failed);
    assert_eq!(read.statistics(), [Statistic::Median]);
    // The form before: comments above the table.
    let mut old = Vec::new();
    store::lines::write_header(&run, "network_test.csv/1", &mut old).unwrap();
    let old = String::from_utf8(old).unwrap().replace(" measurements_amount", "");
    let old = old.replace("min average median max deviation", "median");
    let text = format!("{old}median,destination,source,length\n 5e-6 ,0,1,64\n3e-6,1,0,64\n");
    assert_eq!(everything(&store::csv::read(text.as_bytes(), Path::new("x")).unwrap()), everything(&read));
}

#[test]
fn mistakes_are_named_with_their_line() {
    let run = run(header(2, &[64, 65]), 2);
    let text = String::from_utf8(text_of(&run, store::text::write)).unwrap();
    let csv = String::from_utf8(text_of(&run, store::csv::write)).unwrap();
    let last_table = text.rfind("# length").unwrap();
    let cases = [
        (text.replace("# mode: one_to_one", "# mode: two_to_two"), "unknown mode `two_to_two`"),
        (text.replace("# mode: one_to_one\n", ""), "no line `# mode:`"),
        (text.replace("# host: node1\n", ""), "has 2 values instead of 1"),
        (text.replace("# iterations: 7", "# iterations: many"), "`# iterations:` is not"),
        (text.replace("# iterations", "# itinerary"), "no line `# iterations:`"),
        (text.replace("# command", "# comment"), "`# comment:` is not known"),
        (text.replacen("1e-6", "1,0e-6", 1), "has `1,0e-6` where a value should be"),
        (text.replacen("# unit: s", "# unit: us", 1), "has the unit `us`"),
        (text.replacen("# length: 64", "# length: 63", 1), "where `# length: 64` should be"),
        (text.replacen("# statistic: max", "# statistic: min", 1), "second table of min"),
        (text.replacen("# unit: 1\n7 7", "# unit: 1\n7 7.5", 1), "has `7.5` where a value should be"),
        (text[..last_table].to_owned(), "any table of measurements_amount"),
        (format!("{text}# length: 66\n"), "more tables"),
        (csv.replacen("64,0,1", "64,0,2", 1), "the table has 2 ranks"),
        (csv.replacen("64,0,1", "64,0,0", 1).replacen("64,0,0,node0,node1", "64,0,0,node0,node0", 1), "repeats a cell"),
        (csv.replacen("64,0,1,node0,node1", "64,0,1,node0,other", 1), "has `other` as its destination_host"),
        (csv.replacen("64,0,1", "66,0,1", 1), "has length 66, but length 65 is due"),
        (csv.replacen("measured,\n", "well,\n", 1), "has the state `well`"),
        (csv.replacen(",max", ",maximum", 1), "has a column `maximum`"),
        (csv.replace("destination_host,min", "destination_host,max"), "has no column `min`"),
        (csv.replacen("64,0,1", "64,0", 1), "is no line of this table"),
        (csv.replacen("network_test.csv/2", "network_test.csv/9", 1), "network_test.csv/9"),
        (csv.replacen("[[", "[", 1), "column `run`"),
    ];
    for (text, expected) in cases {
        let read = if text.starts_with("length,") { FORMS[1].1 } else { FORMS[0].1 };
        let error = read(text.as_bytes(), Path::new("run.txt")).unwrap_err().to_string();
        assert!(error.contains(expected) && error.starts_with("`run.txt`, line "), "{expected}: {error}");
    }
}

#[test]
fn bounds_of_clocks_and_damaged_payloads_survive_every_form() {
    let mut header = header(2, &[64]);
    header.plan.insert("timing".to_owned(), "clock".to_owned());
    header.plan.insert("verify".to_owned(), "true".to_owned());
    let mut run = run(header, 0);
    let bounded = Cell { clock_bound: Some(2.5e-7), ..cell(0, 1) };
    let damaged = Cell { damaged: 3, state: State::Damaged, ..cell(0, 2) };
    let zero = Cell { extra: Extra::NONE, ..Cell::zero() };
    run.push(Bytes(64), vec![zero, bounded, damaged, zero]);
    let folder = tempfile::tempdir().unwrap();
    let prefix = folder.path().join("run");
    store::write_run(&run, &prefix, false).unwrap();
    let set = store::open(&prefix).unwrap();
    let mut cells = Vec::new();
    set.read_cells(0, 0..2, &mut cells).unwrap();
    assert_eq!(cells, run.cells(0));
    for (write, read) in FORMS {
        assert_eq!(read(&text_of(&set, write), Path::new("x")).unwrap().cells(0), run.cells(0));
    }
}
