//! `plot` and `report` on the command line: files that are what their names say, and words about what cannot be done.
//! What a report looks like is a browser's business (tests/report.rs).

#[path = "common/lomonosov.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod lomonosov;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use netmatrix::{exit, store};
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

/// Width and height of a PNG file, and its colours in the middle of a cell of a matrix of so many ranks.
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
        let inked = pixels.chunks(3).filter(|pixel| **pixel != [255, 255, 255]).count();
        assert!(inked > 2000, "{name}: {inked} pixels are not white");
    }
}

#[test]
fn grey_pictures_are_grey_and_slower_cells_darker() {
    let (folder, prefix) = stored();
    let arguments = "plot lomonosov --colours grey --scale linear --length 9900 --width 1092 -o grey.png";
    assert_eq!(analyze(folder.path(), arguments).0, 0);
    let (width, _, pixels) = pixels(&folder.path().join("grey.png"));
    // Cells are twelve pixels wide at this width.
    let level = |source: usize, destination: usize| {
        let (x, y) = (130.0 + 12.026 * (destination as f64 + 0.5), 150.0 + 12.026 * (source as f64 + 0.5));
        let at = 3 * (y as usize * width as usize + x as usize);
        let [r, g, b] = [pixels[at], pixels[at + 1], pixels[at + 2]];
        assert!(r == g && g == b, "{r} {g} {b}");
        r
    };
    let matrix = store::open(&prefix).unwrap();
    let matrix = netmatrix::record::Run::matrix(&matrix, netmatrix::record::Statistic::Median, 99).unwrap();
    let mut compared = 0;
    for (a, b) in [((0, 1), (16, 40)), ((3, 70), (16, 2)), ((77, 5), (40, 16)), ((10, 60), (22, 24))] {
        if matrix[a] > 1.03 * matrix[b] {
            assert!(level(a.0, a.1) < level(b.0, b.1), "{a:?} is slower than {b:?}");
            compared += 1;
        }
    }
    assert!(compared >= 2, "only {compared} pairs differ");
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
