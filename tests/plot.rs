//! `plot` and `report` on the command line: files that are what their names say, and words about what cannot be done.
//! What a report looks like is a browser's business (tests/report.rs).

#[path = "common/lomonosov.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod lomonosov;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use netmatrix::{
    exit,
    record::{Cell, MemoryRun, Run, State},
    store,
};
use tempfile::TempDir;

/// A folder with the Lomonosov data, and their prefix.
fn stored() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let prefix = folder.path().join("lomonosov");
    store::write_run(&lomonosov::lomonosov(0.01), &prefix, false).unwrap();
    (folder, prefix)
}

/// Exit code and standard error; nothing is ever printed to standard output.
fn analyze(folder: &Path, arguments: &str) -> (i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_network_analyze"));
    let output = command.current_dir(folder).args(arguments.split(' ')).stdin(Stdio::null()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

#[track_caller]
fn fails(folder: &Path, arguments: &str, code: u8, words: &[&str]) {
    let (actual, stderr) = analyze(folder, arguments);
    assert_eq!(actual, i32::from(code), "{arguments}: {stderr}");
    for word in words {
        assert!(stderr.contains(word), "{arguments}: `{word}` is not in: {stderr}");
    }
}

/// Width and height of a PNG file, and its colours.
fn pixels(path: &Path) -> (u32, u32, Vec<u8>) {
    let decoder = png::Decoder::new(std::io::BufReader::new(fs::File::open(path).unwrap()));
    let mut reader = decoder.read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    (info.width, info.height, pixels)
}

#[test]
fn every_kind_of_picture_is_drawn_in_both_forms() {
    let (folder, _) = stored();
    let kinds = [
        ("matrix", "--length 5000", "median of one_to_one at 5000 bytes"),
        ("row", "--row rank16", "median of one_to_one from rank16"),
        ("column", "--column 3 --statistic max", "max of one_to_one to rank3"),
        ("pair", "--row 1 --column 2", "one_to_one from rank1 to rank2"),
        ("histogram", "--histogram --length 9900", "median of one_to_one at 9900 bytes"),
    ];
    for (name, arguments, title) in kinds {
        for form in ["png", "svg"] {
            let (code, stderr) = analyze(folder.path(), &format!("plot lomonosov {arguments} -o {name}.{form}"));
            assert_eq!((code, &*stderr), (0, ""), "{name}.{form}");
        }
        let svg = fs::read_to_string(folder.path().join(format!("{name}.svg"))).unwrap();
        assert!(svg.contains(title) && svg.contains(" us"), "{name}.svg has no `{title}`");
        let (width, height, pixels) = pixels(&folder.path().join(format!("{name}.png")));
        assert!(width == 900 && height >= 540, "{name}: {width} x {height}");
        let (width, height) = (width as usize, height as usize);
        // Where a cell, the curve or a bar has to be, there is a colour, and none on the margin.
        let colours = |[left, top, right, bottom]: [usize; 4]| -> BTreeSet<[u8; 3]> {
            let rows = (top..bottom).map(|row| 3 * row * width);
            rows.flat_map(|row| pixels[row + 3 * left..row + 3 * right].chunks(3))
                .map(|pixel| [pixel[0], pixel[1], pixel[2]])
                .collect()
        };
        assert!(colours([130, 150, width - 30, height - 90]).len() > 3, "{name}");
        assert_eq!(colours([0, height - 4, width, height]), BTreeSet::from([[255; 3]]), "{name}");
    }
}

#[test]
fn every_cell_of_a_grey_matrix_is_as_dark_as_its_time_is_long() {
    let (folder, prefix) = stored();
    let arguments =
        "plot lomonosov --palette grey --scale linear --range 5us:25us --length 9900 --width 1092 -o grey.png";
    assert_eq!(analyze(folder.path(), arguments), (0, String::new()));
    let (width, _, pixels) = pixels(&folder.path().join("grey.png"));
    let matrix = store::open(&prefix).unwrap();
    let matrix = netmatrix::record::Run::matrix(&matrix, netmatrix::record::Statistic::Median, 99).unwrap();
    let mut levels = BTreeSet::new();
    for (source, destination) in (0..78).flat_map(|source| (0..78).map(move |destination| (source, destination))) {
        // Cells are twelve pixels wide at this width.
        let (x, y) = (130.0 + 12.026 * (destination as f64 + 0.5), 150.0 + 12.026 * (source as f64 + 0.5));
        let at = 3 * (y as usize * width as usize + x as usize);
        let place = ((matrix[(source, destination)] - 5e-6) / 20e-6).clamp(0.0, 1.0);
        let level = (250.0 - 242.0 * place).round() as u8;
        let expected = if source == destination { [195, 200, 206] } else { [level; 3] };
        assert_eq!(pixels[at..at + 3], expected, "{source} to {destination}");
        levels.insert(level);
    }
    assert!(levels.len() > 10, "{levels:?}");
}

#[test]
fn what_failed_or_was_damaged_is_said() {
    let run = lomonosov::lomonosov(0.01);
    let mut spoilt = MemoryRun::with_statistics(run.header().clone(), run.statistics().to_vec());
    for (index, length) in run.lengths().iter().enumerate() {
        let mut cells = run.cells(index).to_vec();
        cells[2 * 78 + 3].state = State::Damaged;
        cells[2 * 78 + 4] = Cell::missing(State::TimedOut);
        spoilt.push(*length, cells);
    }
    let folder = tempfile::tempdir().unwrap();
    store::write_run(&spoilt, &folder.path().join("spoilt"), false).unwrap();
    for (name, arguments, cells) in [
        ("matrix", "--length 5000", Some("1 cell")),
        ("histogram", "--histogram", Some("1 cell")),
        ("row", "--row 2", Some("100 cells")),
        ("pair", "--row 2 --column 5", None),
    ] {
        let (code, stderr) = analyze(folder.path(), &format!("plot spoilt {arguments} -o {name}.svg"));
        assert_eq!(code, 0, "{stderr}");
        for what in ["exchanges failed or timed out in", "payloads arrived damaged in"] {
            match cells {
                Some(cells) => {
                    assert!(stderr.contains(&format!("{what} {cells} of what is shown")), "{name}: {stderr}")
                }
                None => assert_eq!(stderr, "", "{name}"),
            }
        }
        let svg = fs::read_to_string(folder.path().join(format!("{name}.svg"))).unwrap();
        assert_eq!(svg.contains("payloads damaged"), matches!(name, "matrix" | "row"), "{name}");
    }
}

#[test]
fn what_cannot_be_drawn_is_told() {
    let (folder, _) = stored();
    fs::write(folder.path().join("there.png"), "precious").unwrap();
    fails(folder.path(), "plot lomonosov -o there.png", exit::FILES, &["there.png", "--force"]);
    assert_eq!(fs::read_to_string(folder.path().join("there.png")).unwrap(), "precious");
    fails(folder.path(), "plot lomonosov -o picture.gif", exit::USAGE, &["picture.gif", ".png or .svg"]);
    fails(folder.path(), "plot lomonosov -o none/picture.png", exit::FILES, &["none/picture.png"]);
    fails(folder.path(), "plot lomonosov --row nobody -o x.png", exit::USAGE, &["nobody"]);
    fails(folder.path(), "plot nothing -o x.png", exit::FILES, &["nothing"]);
    assert!(!folder.path().join("x.png").exists());
    assert_eq!(analyze(folder.path(), "plot lomonosov -o there.png --force").0, 0);
}

#[test]
fn what_cannot_be_reported_is_told() {
    let (folder, _) = stored();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("there.html", "precious");
    write("other.json", "{\"schema\": \"network_test.regions/1\"}");
    write("broken.json", "{");
    write("topology.conf", "SwitchName=a Colour=red\n");
    let diagnosis = |mode: &str, ranks: u32| {
        format!(
            r#"{{"schema": "network_test.diagnosis/1", "verdict": "healthy", "findings": [],
            "run": {{"mode": "{mode}", "ranks": {ranks}}}}}"#
        )
    };
    write("right.json", &diagnosis("one_to_one", 78));
    write("put.json", &diagnosis("put", 78));
    write("small.json", &diagnosis("one_to_one", 4));
    write(
        "joint.json",
        &diagnosis("one_to_one", 78).replace("}}", "}, \"further_runs\": [{\"mode\": \"one_to_one\"}]}"),
    );
    fails(folder.path(), "report lomonosov -o there.html", exit::FILES, &["there.html", "--force"]);
    fails(folder.path(), "report lomonosov", exit::USAGE, &["--output"]);
    fails(folder.path(), "report lomonosov nothing -o x.html", exit::FILES, &["nothing"]);
    fails(folder.path(), "report lomonosov --diagnosis other.json -o x.html", exit::FILES, &["other.json", "diagnose"]);
    fails(folder.path(), "report lomonosov --diagnosis broken.json -o x.html", exit::FILES, &["broken.json", "JSON"]);
    fails(folder.path(), "report lomonosov --diagnosis put.json -o x.html", exit::FILES, &["put.json", "put with 78"]);
    fails(folder.path(), "report lomonosov --diagnosis small.json -o x.html", exit::FILES, &["small.json", "4 ranks"]);
    let twice = "report lomonosov --diagnosis right.json --diagnosis right.json -o x.html";
    fails(folder.path(), twice, exit::USAGE, &["--diagnosis", "2 times"]);
    let joint = "report lomonosov lomonosov --diagnosis joint.json --diagnosis right.json -o x.html";
    fails(folder.path(), joint, exit::USAGE, &["--diagnosis right.json", "all 2 runs"]);
    let both = "report lomonosov --diagnosis right.json --no-diagnosis -o x.html";
    fails(folder.path(), both, exit::USAGE, &["--no-diagnosis", "--diagnosis"]);
    fails(folder.path(), "report lomonosov --topology topology.conf -o x.html", exit::FILES, &["line 1", "Colour"]);
    fails(folder.path(), "report lomonosov -o none/x.html", exit::FILES, &["none/x.html"]);
    let names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(names.iter().all(|name| !name.to_string_lossy().contains(".part")), "{names:?}");
    assert_eq!(fs::read_to_string(folder.path().join("there.html")).unwrap(), "precious");
}

#[test]
fn a_report_has_the_statistics_that_were_asked_for() {
    let (folder, _) = stored();
    let (code, stderr) = analyze(folder.path(), "report lomonosov -o x.html --statistics median,max");
    assert!(code == 0 && stderr.contains("x.html"), "{stderr}");
    let page = fs::read_to_string(folder.path().join("x.html")).unwrap();
    for (name, is_there) in [("median", true), ("max", true), ("min", false), ("deviation", false)] {
        assert_eq!(page.contains(&format!("\"name\":\"{name}\",\"unit\"")), is_there, "{name}");
    }
    fails(folder.path(), "report lomonosov -o y.html --statistics mean", exit::USAGE, &["mean", "average"]);
}
