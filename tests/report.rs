//! Reports as their readers meet them: pages that `network_analyze report` wrote, in a real browser.
//!
//! `REPORT_SCREENSHOTS=folder` keeps pictures of what was seen, for people to look at.

#[path = "common/browser.rs"]
mod browser;
#[path = "report/details.rs"]
mod details;
#[path = "report/large.rs"]
mod large;
#[path = "common/lomonosov.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod lomonosov;
#[path = "report/pages.rs"]
mod pages;
#[path = "report/reader.rs"]
mod reader;
#[path = "report/verdicts.rs"]
mod verdicts;

use std::{fs, path::Path};

use base64::{Engine, engine::general_purpose::STANDARD};
use large::{Large, SLOW};
use netmatrix::{
    record::{Run, Statistic},
    store,
};
use pages::{Folder, LENGTHS, findings, healthy, measured};
use reader::Reader;
use serde_json::json;

/// The matrix of a stored run.
fn matrix(prefix: &Path, statistic: Statistic, length: usize) -> netmatrix::record::Matrix {
    store::open(prefix).unwrap().matrix(statistic, length).unwrap()
}

#[test]
fn a_real_run_opens_complete_and_asks_nothing_of_any_network() {
    let folder = Folder::new();
    let run = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/laptop4/network");
    let page = folder.report("laptop4", &[&run], &[]);
    let reader = Reader::open(&page);
    let original = matrix(&run, Statistic::Median, 8);
    for (source, destination) in (0..4).flat_map(|source| (0..4).map(move |destination| (source, destination))) {
        if source != destination {
            reader.expect_value(source, destination, original[(source, destination)]);
        }
    }
    assert!(reader.text("#facts").contains("one_to_one"), "{}", reader.text("#facts"));
    // The fitted model, and how far off it is.
    for word in ["inside a host", "predicted", "measured medians of 12 pairs are"] {
        assert!(reader.text("#facts").contains(word), "{}", reader.text("#facts"));
    }
    for address in reader.browser.requests() {
        let is_local = ["file:", "data:", "blob:"].iter().any(|scheme| address.starts_with(scheme));
        assert!(is_local, "the page asked for {address}");
    }
    let fetched = "return await fetch('http://127.0.0.1:9/').then(() => 'fetched', (error) => String(error));";
    assert!(reader.browser.run(fetched).as_str().unwrap().contains("Failed to fetch"));
    // The policy complains about that one, and nothing else has been complained about before.
    let complaints = reader.browser.log("browser");
    assert!(!complaints.is_empty() && complaints.iter().all(|entry| entry.to_string().contains("127.0.0.1:9")));
}

#[test]
fn the_lomonosov_data_are_small_and_every_view_is_drawn() {
    let folder = Folder::new();
    let prefix = folder.lomonosov();
    let page = folder.report("lomonosov", &[&prefix], &[]);
    let size = fs::metadata(&page).unwrap().len();
    assert!(size <= 1_500_000, "78 x 78 x 100 x 5 values take {size} bytes");
    let reader = Reader::open(&page);
    reader.screenshot("lomonosov");
    let names = ["min", "average", "median", "max"];
    for (statistic, length) in names.into_iter().zip([0, 33, 66, 99]) {
        reader.show(&json!({"statistic": statistic, "length": length}));
        let original = matrix(&prefix, statistic.parse().unwrap(), length);
        for (source, destination) in [(0, 1), (77, 3), (16, 17), (40, 76)] {
            reader.expect_value(source, destination, original[(source, destination)]);
        }
    }
    // All deviations are zero there.
    reader.show(&json!({"statistic": "deviation", "scale": "log"}));
    assert_eq!(reader.value(3, 5), 0.0);
    for (name, values) in [
        ("range", ["all", "window", "matrix"]),
        ("scale", ["linear", "log", "log"]),
        ("colours", ["grey", "perceptual", "perceptual"]),
        ("line", ["column", "row", "row"]),
        ("order", ["host", "rank", "rank"]),
    ] {
        for value in values {
            reader.show(&json!({"statistic": "median", name: value, "from": 10, "to": 20}));
        }
    }
    reader.expect_no_complaints();
}

#[test]
fn five_statistics_that_scatter_as_real_ones_do_are_small_too() {
    let folder = Folder::new();
    let page = folder.large(78, 100, &Statistic::OF_TIMES);
    let size = fs::metadata(&page).unwrap().len();
    println!("78 x 78 x 100 x 5 values that scatter: {size} bytes");
    assert!(size <= 1_500_000, "they take {size} bytes");
    let reader = Reader::open(&page);
    let run = Large::new(78, 100);
    for (statistic, length) in Statistic::OF_TIMES.into_iter().zip([0, 20, 50, 70, 99]) {
        reader.show(&json!({"statistic": statistic.name(), "length": length}));
        for (source, destination) in [(0, 1), (1, 77), (40, 41)] {
            reader.expect_value(source, destination, run.value(statistic, length, source, destination));
        }
    }
    reader.expect_no_complaints();
}

#[test]
fn colours_follow_the_range_the_levels_and_the_map() {
    let folder = Folder::new();
    let reader = Reader::open(&folder.report("lomonosov", &[&folder.lomonosov()], &[]));
    let at = |changes: serde_json::Value| {
        reader.show(&changes);
        reader.colour(40, 20)
    };
    let grey = json!({"length": 99, "colours": "grey", "scale": "linear", "range": "matrix", "marks": 0});
    let [r, g, b] = at(grey);
    assert!(r == g && g == b, "grey is grey: {r} {g} {b}");
    // The same value is darker in front of all lengths than in front of its own matrix, whose values are all large.
    let [all, ..] = at(json!({"range": "all"}));
    assert!(all < r, "{all} in the range of all lengths, {r} in that of the matrix");
    let [window, ..] = at(json!({"range": "window", "from": 98, "to": 99}));
    assert!(window.abs_diff(r) < 40, "{window} in a window of two lengths, {r} in the matrix");
    let [white, ..] = at(json!({"range": "matrix", "white": 90}));
    assert!(white > 240, "below the white level everything is white: {white}");
    let [black, ..] = at(json!({"white": 0, "black": 5}));
    assert!(black < 20, "above the black level everything is black: {black}");
    let [r, g, b] = at(json!({"black": 100, "colours": "perceptual"}));
    assert!(r != g || g != b, "viridis is no grey");
    reader.expect_no_complaints();
}

#[test]
fn a_finding_leads_to_its_place_and_a_link_restores_the_view() {
    let folder = Folder::new();
    let diagnosis = folder.diagnosis(32, &findings());
    let topology = folder.path("topology.conf");
    let leaves =
        (0..4).map(|leaf| format!("SwitchName=leaf{leaf} Nodes=node[{:03}-{:03}]\n", 13 - 4 * leaf, 16 - 4 * leaf));
    fs::write(&topology, leaves.collect::<String>() + "SwitchName=spine Switches=leaf[0-3]\n").unwrap();
    let arguments = ["--diagnosis", diagnosis.to_str().unwrap(), "--topology", topology.to_str().unwrap()];
    let page = folder.report("faults", &[&folder.faults()], &arguments);
    let reader = Reader::open(&page);
    reader.screenshot("faults");
    let verdict = reader.text("#verdict");
    assert!(verdict.starts_with("3 findings") && verdict.contains("node010 \u{2192} node014"), "{verdict}");
    reader.show(&json!({"length": 0}));
    reader.browser.run("document.querySelectorAll('.finding')[1].click();");
    reader.browser.wait_for("networkReport.view.source === 18 && networkReport.view.destination === 26");
    assert_eq!(reader.browser.run("return networkReport.view.length"), LENGTHS.len() - 1);
    reader.browser.run("document.querySelectorAll('.finding')[0].click();");
    reader.browser.wait_for("networkReport.view.source === 4 && networkReport.view.line === 'row'");

    let tree = reader.text("#tree");
    assert!(tree.starts_with("spine, 16 hosts") && tree.contains("leaf3, 4 hosts"), "{tree}");
    assert_eq!(reader.browser.run("return document.querySelectorAll('#tree .host.found').length"), 4);
    // leaf0 comes first in the file, and node013 is its first host: rank 24 is in the first row.
    reader.show(&json!({"order": "group", "source": 24, "destination": 25}));
    let original = matrix(&folder.path("faults"), Statistic::Median, LENGTHS.len() - 1);
    reader.expect_value(24, 25, original[(24, 25)]);
    let place = reader.place_of(0, 1);
    reader.browser.click(place.0, place.1);
    reader.browser.wait_for("networkReport.view.source === 24 && networkReport.view.destination === 25");
    reader.screenshot("topology");

    reader.show(
        &json!({"statistic": "max", "length": 3, "colours": "grey", "order": "host", "source": 7, "line": "column"}),
    );
    let middle = reader.place_of(20, 20);
    for _ in 0..4 {
        reader.browser.wheel(middle.0, middle.1, -300);
    }
    let visible = reader.browser.run("return networkReport.visible()");
    assert!(visible["width"].as_f64().unwrap() < 16.0, "the wheel zooms: {visible}");
    reader.browser.wait_for("location.hash.includes('zoom') && location.hash.includes('length=3')");
    let link = reader.browser.run("return location.href");
    let wanted = reader.browser.run("return networkReport.view");
    reader.browser.open("about:blank");
    reader.browser.open(link.as_str().unwrap());
    reader.wait();
    assert_eq!(reader.browser.run("return networkReport.view"), wanted);
    let restored = reader.browser.run("return networkReport.visible()");
    for name in ["x", "y", "width"] {
        let [old, new] = [&visible, &restored].map(|part| part[name].as_f64().unwrap());
        assert!((old - new).abs() < 0.02, "{name}: {old} became {new}");
    }
    reader.expect_no_complaints();
}

#[test]
fn a_person_picks_cells_with_mouse_and_keys() {
    let folder = Folder::new();
    let prefix = folder.faults();
    let reader = Reader::open(&folder.report("faults", &[&prefix], &[]));
    let original = matrix(&prefix, Statistic::Median, LENGTHS.len() - 1);
    let place = reader.place_of(4, 9);
    reader.browser.click(place.0, place.1);
    reader.browser.wait_for("networkReport.view.source === 4 && networkReport.view.destination === 9");
    reader.expect_value(4, 9, original[(4, 9)]);
    let picked = reader.text("#picked");
    assert!(picked.contains("node003:0 (rank 4)") && picked.contains("node005:1 (rank 9)"), "{picked}");
    // Four times the bandwidth of the others is missing.
    assert!(picked.contains("times the median"), "{picked}");
    let tip = reader.text("#tip");
    assert!(tip.contains("node003:0") && tip.contains("1M bytes, median"), "{tip}");

    reader.browser.run("document.getElementById('matrix').focus();");
    reader.browser.key("\u{E015}");
    reader.browser.wait_for("networkReport.view.source === 5");
    reader.browser.key("[");
    reader.browser.wait_for(&format!("networkReport.view.length === {}", LENGTHS.len() - 2));
    reader.browser.key("c");
    reader.browser.wait_for("networkReport.view.line === 'column'");
    reader.browser.key("+");
    assert!(reader.browser.run("return networkReport.visible().width").as_f64().unwrap() < 32.0);

    reader.browser.run(
        "const search = document.getElementById('search');
         search.value = 'node011'; search.dispatchEvent(new Event('change'));",
    );
    reader.browser.wait_for("networkReport.view.source === 20");
    reader.browser.run(
        "const search = document.getElementById('search');
         search.value = 'nobody'; search.dispatchEvent(new Event('change'));",
    );
    assert!(reader.text("#search-answer").contains("nobody"));

    // Two ranks per host as one: the slowest pair stands for four.
    reader.show(&json!({"unit": "host", "length": LENGTHS.len() - 1}));
    let slowest = [(4, 0), (4, 1), (5, 0), (5, 1)].map(|cell| original[cell]).into_iter().fold(0.0, f64::max);
    reader.expect_value(4, 0, slowest);
    reader.expect_no_complaints();
}

#[test]
fn texts_from_files_are_never_markup() {
    let folder = Folder::new();
    let evil = ["<script>alert(1)</script>", "</script><img src=x onerror=alert(2)>", "a&amp;b\"'", "n<b>4</b>"];
    let mut machine = netmatrix::measure::synthetic::Machine::leaf_spine(4, 1, 1);
    machine.hosts = netmatrix::units::Hosts::new(evil);
    let prefix = folder.store("evil", &measured(&machine, &[0, 64], 5));
    let findings = json!([{"kind": "node", "hosts": [evil[0]], "direction": "both", "symptom": "<i>latency</i>",
        "lengths": [0, 64], "ratio": 2.0, "extra_seconds": 1e-6, "confidence": 0.99,
        "cells": {"slow": 6, "of": 6}, "explanation": "</script><script>alert(3)</script>"}]);
    let diagnosis = folder.diagnosis(4, &findings);
    let title = "<script>alert(4)</script>";
    let arguments = ["--diagnosis", diagnosis.to_str().unwrap(), "--title", title];
    let reader = Reader::open(&folder.report("evil", &[&prefix], &arguments));
    assert_eq!(reader.text("#title"), title);
    let verdict = reader.text("#verdict");
    assert!(verdict.contains(evil[0]) && verdict.contains("<i>latency</i>"), "{verdict}");
    let place = reader.place_of(0, 1);
    reader.browser.click(place.0, place.1);
    reader.browser.wait_for(&format!("document.getElementById('picked').textContent.includes({})", json!(evil[1])));
    let found = reader.browser.run("return document.querySelectorAll('img, b, i, #verdict script').length");
    assert_eq!(found, 0);
    reader.expect_no_complaints();
}

#[test]
fn two_runs_are_compared_by_host_and_length() {
    let folder = Folder::new();
    let before = folder.store("before", &measured(&healthy(), &LENGTHS[2..], 20));
    let after = folder.faults();
    let page = folder.report("compare", &[&after], &["--compare", before.to_str().unwrap()]);
    let reader = Reader::open(&page);
    reader.show(&json!({"compare": 1, "marks": 0}));
    let last = LENGTHS.len() - 1;
    let (new, old) = (matrix(&after, Statistic::Median, last), matrix(&before, Statistic::Median, last - 2));
    for cell in [(4, 9), (18, 26), (0, 20), (30, 2)] {
        let ratio = new[cell] / old[cell];
        let shown = reader.value(cell.0, cell.1);
        assert!((shown / ratio - 1.0).abs() < 0.03, "{cell:?}: {shown} instead of {ratio}");
    }
    let [slower, same] = [reader.colour(18, 26), reader.colour(0, 20)];
    assert!(slower[0] > slower[1] + 60, "slower is red: {slower:?}");
    assert!(same.iter().all(|channel| *channel > 215), "the same is neutral: {same:?}");
    reader.screenshot("compare");
    // The first two lengths were not measured before: all of them are missing, and nothing breaks.
    reader.show(&json!({"length": 0}));
    assert!(reader.value(4, 9).is_nan());
    reader.expect_no_complaints();
}

#[test]
fn an_archive_keeps_its_tolerance_and_outlines_its_regions() {
    let folder = Folder::new();
    let prefix = folder.lomonosov();
    let archive = folder.cluster(&prefix, "lomonosov.cluster.nc", "10%");
    let reader = Reader::open(&folder.report("archive", &[&archive], &[]));
    assert!(reader.text("#verdict").contains("within 10 %"), "{}", reader.text("#verdict"));
    let original = matrix(&prefix, Statistic::Median, 99);
    for cell in [(0, 1), (77, 3), (16, 40)] {
        let shown = reader.value(cell.0, cell.1);
        assert!((shown / original[cell] - 1.0).abs() < 0.13, "{cell:?}: {shown} instead of {}", original[cell]);
    }
    // Outlines are where neighbours in a row are of different sets, and nowhere else. The picked row has lines of its own.
    reader.show(&json!({"order": "rank", "source": 0, "destination": 1, "regions": 0}));
    let without = reader.right_edges(78);
    reader.show(&json!({"regions": 1}));
    let with = reader.right_edges(78);
    let clustered = store::open_archive(&archive).unwrap();
    let sets = &clustered.parts().last().unwrap().sets;
    let mut outlined = 0;
    for (cell, pair) in sets.windows(2).enumerate().skip(78) {
        let (row, column) = (cell / 78, cell % 78);
        if column < 77 && row != column && row != column + 1 {
            assert_eq!(with[cell] != without[cell], pair[0] != pair[1], "between {row}, {column} and the next");
            outlined += usize::from(pair[0] != pair[1]);
        }
    }
    assert!((100..5000).contains(&outlined), "{outlined} of 5,852 edges: both kinds are seen");
    reader.screenshot("archive");
    reader.expect_no_complaints();
}

#[test]
fn odd_runs_are_drawn_sensibly() {
    let folder = Folder::new();
    for (name, run) in pages::odd_runs() {
        let prefix = folder.store(name, &run);
        let reader = Reader::open(&folder.report(name, &[&prefix], &[]));
        for scale in ["log", "linear"] {
            if !run.lengths().is_empty() {
                reader.show(&json!({"scale": scale}));
            }
        }
        match name {
            "unfinished" => assert!(reader.text("#verdict").contains("unfinished"), "{}", reader.text("#verdict")),
            "nothing" => {
                assert!(reader.text("#nothing").contains("nothing to show"));
                reader.browser.wait_for("document.getElementById('play').getClientRects().length === 0");
            }
            "pair" => assert!(reader.text("#summary").starts_with("2 pairs"), "{}", reader.text("#summary")),
            "lost" => {
                // Neither black nor white: the stripes of a hatching are red, and so is what lies between them.
                let [r, g, _] = reader.colour(0, 1);
                assert!(r > g + 15 && r > 60, "a missing cell is hatched");
                assert!(reader.text("#missing-text").contains("12 missing"));
            }
            "zeros" => assert_eq!(reader.value(0, 1), 0.0),
            _ => assert!(reader.value(0, 1) > 0.0),
        }
        reader.expect_no_complaints();
    }
}

/// Red, green, blue and opacity of every pixel of a PNG that Chromium made.
fn png_pixels(picture: &[u8]) -> Vec<u8> {
    let mut reader = png::Decoder::new(std::io::Cursor::new(picture)).read_info().unwrap();
    assert_eq!(reader.info().color_type, png::ColorType::Rgba);
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut pixels).unwrap();
    pixels
}

#[test]
fn pictures_and_tables_are_downloaded_and_the_page_prints() {
    let folder = Folder::new();
    let prefix = folder.faults();
    let reader = Reader::open(&folder.report("faults", &[&prefix], &[]));
    let downloads = folder.path("downloads");
    fs::create_dir(&downloads).unwrap();
    let wanted = json!({"behavior": "allow", "downloadPath": downloads});
    reader.browser.chromium("Browser.setDownloadBehavior", &wanted);
    let table = reader.download("[data-table=matrix]", &downloads.join("faults_one_to_one_median_1048576.csv"));
    let table = String::from_utf8(table).unwrap();
    let original = matrix(&prefix, Statistic::Median, LENGTHS.len() - 1);
    let mut lines = table.lines();
    assert_eq!(lines.next(), Some("length,source,destination,source_host,destination_host,median_seconds"));
    let mut count = 0;
    for line in lines {
        let fields: Vec<&str> = line.split(',').collect();
        let value = original[(fields[1].parse().unwrap(), fields[2].parse().unwrap())];
        match fields[5] {
            "" => assert!(value.is_nan(), "{line}"),
            text => assert!((text.parse::<f64>().unwrap() / value - 1.0).abs() < 0.02, "{line}: {value}"),
        }
        count += 1;
    }
    assert_eq!(count, 32 * 31);
    let picture = reader.download("[data-picture=matrix]", &downloads.join("faults_one_to_one_median_1048576.png"));
    // The picture has the cells of the page: so many pixels of the colour that a slow cell and a usual one have there.
    let pixels = png_pixels(&picture);
    let (slow, usual) = (reader.colour(4, 9), reader.colour(20, 21));
    assert_ne!(slow, usual);
    for colour in [slow, usual] {
        let count = pixels.as_chunks::<4>().0.iter().filter(|pixel| pixel[..3] == colour).count();
        assert!(count >= 100, "{count} pixels have the colour {colour:?}");
    }
    let print = reader
        .browser
        .chromium("Page.printToPDF", &json!({"paperWidth": 8.27, "paperHeight": 11.69, "printBackground": false}));
    // The matrix is in it, all of it; on A4.
    let print = STANDARD.decode(print["data"].as_str().unwrap()).unwrap();
    let print = String::from_utf8_lossy(&print);
    let size =
        ["width", "height"].map(|side| reader.number(&format!("return document.getElementById('matrix').{side}")));
    let image = format!("/Subtype /Image\n/Width {}\n/Height {}\n", size[0], size[1]);
    assert!(print.starts_with("%PDF-") && print.contains(&image), "no {image:?} among {:?}", {
        print.lines().filter(|line| line.starts_with("/Width") || line.starts_with("/Height")).collect::<Vec<_>>()
    });
    assert!(print.contains("/MediaBox [0 0 59"), "A4 is 595 points wide");
    reader.expect_no_complaints();
}

#[test]
fn dark_and_light_are_told_apart() {
    let folder = Folder::new();
    let reader = Reader::open(&folder.report("faults", &[&folder.faults()], &[]));
    let ground = || reader.browser.run("return getComputedStyle(document.body).backgroundColor");
    assert_eq!(ground(), "rgb(255, 255, 255)");
    let dark = json!({"features": [{"name": "prefers-color-scheme", "value": "dark"}]});
    reader.browser.chromium("Emulation.setEmulatedMedia", &dark);
    reader.browser.wait_for("getComputedStyle(document.body).backgroundColor === 'rgb(20, 23, 27)'");
    reader.show(&json!({"statistic": "max"}));
    reader.screenshot("dark");
    reader.browser.run("document.getElementById('theme').click();");
    assert_eq!(ground(), "rgb(255, 255, 255)");
    reader.expect_no_complaints();
}

#[test]
fn a_thousand_ranks_open_and_play() {
    const LENGTHS: u64 = 8;
    let folder = Folder::new();
    let page = folder.large(1024, LENGTHS, &[Statistic::Median, Statistic::Deviation]);
    let size = fs::metadata(&page).unwrap().len();
    assert!(size <= 10_000_000, "1,024 x 1,024 x {LENGTHS} x 2 values take {size} bytes");
    let reader = Reader::open(&page);
    reader.screenshot("large");
    let run = Large::new(1024, LENGTHS);
    for (length, source, destination) in [(7, 0, 1), (7, 5, SLOW), (7, 1000, 17), (3, 512, 511)] {
        reader.show(&json!({"length": length}));
        reader.expect_value(source, destination, run.value(Statistic::Median, length, source, destination));
    }
    let times = reader.browser.run(&format!(
        "networkReport.timings.frames.length = 0;
         for (let length = 0; length < {LENGTHS}; length++) await networkReport.show({{ length }});
         return networkReport.timings.frames;"
    ));
    let times: Vec<f64> = times.as_array().unwrap().iter().filter_map(serde_json::Value::as_f64).collect();
    assert_eq!(times.len() as u64, LENGTHS, "every length is a frame");
    let opened = reader.number("return networkReport.timings.opened");
    println!("1,024 ranks: {size} bytes, opened after {opened:.0} ms, frames of {times:.0?} ms");
    reader.expect_no_complaints();
}

#[test]
fn four_thousand_ranks_are_zoomed() {
    let folder = Folder::new();
    let reader = Reader::open(&folder.large(4096, 1, &[Statistic::Median]));
    let place = reader.place_of(1000, 1000);
    let frames = reader.browser.run(
        "const matrix = document.getElementById('matrix');
         const frames = [];
         for (let k = 0; k < 30; k++) {
           const start = performance.now();
           matrix.dispatchEvent(new WheelEvent('wheel', { deltaY: k < 15 ? -120 : 120, clientX: 400, clientY: 500, cancelable: true }));
           frames.push(performance.now() - start);
         }
         return frames.sort((a, b) => a - b);",
    );
    let frames: Vec<f64> = frames.as_array().unwrap().iter().filter_map(serde_json::Value::as_f64).collect();
    println!("4,096 ranks: a step of the wheel takes {:.1} ms, the longest {:.1} ms", frames[15], frames[29]);
    reader.browser.wheel(place.0, place.1, -600);
    reader.drawn();
    assert!(reader.number("return networkReport.visible().width") < 4096.0);
    reader.expect_no_complaints();
}
