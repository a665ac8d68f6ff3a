//! What people find out after a while: words next to findings, search, links, single figures as files, paper.

use std::{fs, path::Path};

use netmatrix::{plan::Mode, record::Statistic};
use serde_json::json;

use crate::{
    matrix,
    pages::{Folder, LENGTHS, broken, findings, healthy, measured, measured_as},
    png_pixels,
    reader::Reader,
};

const LAST: usize = LENGTHS.len() - 1;

#[test]
fn a_finding_says_everything_that_is_known_about_it() {
    let folder = Folder::new();
    let mut findings = findings();
    findings[0]["id"] = json!("N-1");
    findings[0]["next_check"] = json!("look at the cable of node003");
    findings[0]["retest"] = json!({"first": 3.6e-4, "second": null, "alone": 3.5e-4, "verdict": "slow_alone"});
    findings[1]["retest"] = json!("slow alone, too");
    findings.as_array_mut().unwrap().push(json!({"kind": "fabric", "symptom": "jitter"}));
    let diagnosis = folder.diagnosis(32, &findings);
    let arguments = ["--diagnosis", diagnosis.to_str().unwrap()];
    let reader = Reader::open(&folder.report("faults", &[&folder.faults()], &arguments));
    let verdict = reader.text("#verdict");
    for words in [
        "4 findings",
        "N-1",
        "from 64K bytes on",
        "60 of 62 agree",
        "Next: look at the cable of node003",
        "Measured again: alone 350 us, first 360 us, verdict slow_alone",
        "Measured again: slow alone, too",
        "Judged: median of one_to_one, 8 message lengths, 32 ranks on 16 hosts.",
    ] {
        assert!(verdict.contains(words), "`{words}` is not in: {verdict}");
    }
    assert!(!verdict.contains("undefined") && !verdict.contains("null"), "{verdict}");
    reader.browser.run("document.querySelectorAll('.finding')[3].click();");
    reader.wait();
    reader.expect_no_complaints();
}

#[test]
fn a_search_frames_row_and_column_and_goes_on_with_enter() {
    let folder = Folder::new();
    let reader = Reader::open(&folder.report("faults", &[&folder.faults()], &[]));
    let seek = |text: &str| {
        reader.browser.run(&format!(
            "const search = document.getElementById('search'); search.focus(); search.value = {};",
            json!(text)
        ));
        reader.browser.key("\u{E007}");
    };
    seek("node011");
    reader.browser.wait_for("networkReport.view.found === 20 && networkReport.view.source === 20");
    assert!(reader.text("#search-answer").contains("1 of 2"), "{}", reader.text("#search-answer"));
    reader.browser.key("\u{E007}");
    reader.browser.wait_for("networkReport.view.found === 21");
    assert!(reader.browser.run("return location.href").as_str().unwrap().starts_with("file:"));
    seek("17");
    reader.browser.wait_for("networkReport.view.found === 17");
    seek("nobody");
    assert!(reader.text("#search-answer").contains("nobody"));
    seek("");
    reader.browser.wait_for("networkReport.view.found === -1");
    reader.expect_no_complaints();
}

#[test]
fn another_mode_is_shown_at_the_same_length_with_its_own_verdict() {
    let folder = Folder::new();
    let put = folder.store("put", &measured_as(Mode::Put, &broken(), &LENGTHS[2..], 20));
    let diagnosis = folder.diagnosis(32, &findings());
    let arguments = ["--diagnosis", diagnosis.to_str().unwrap()];
    let reader = Reader::open(&folder.report("modes", &[&folder.faults(), &put], &arguments));
    reader.show(&json!({"length": 4, "source": 6, "destination": 9}));
    reader.browser.run(
        "const run = document.getElementById('run');
         run.value = 1; run.dispatchEvent(new Event('input'));",
    );
    reader.browser.wait_for("document.getElementById('matrix-title').textContent.includes('put at 16K')");
    reader.expect_value(6, 9, matrix(&put, Statistic::Median, 2)[(6, 9)]);
    assert!(reader.text("#verdict").starts_with("Not diagnosed"), "{}", reader.text("#verdict"));
    assert!(reader.browser.run("return document.getElementById('marks-choice').hidden").as_bool().unwrap());
    reader.expect_no_complaints();
}

#[test]
fn a_link_without_a_part_shows_the_whole() {
    let folder = Folder::new();
    let page = folder.report("faults", &[&folder.faults()], &[]);
    let reader = Reader::open(&page);
    reader.browser.run("location.hash = '#zoom=3,4,8&length=2';");
    reader.browser.wait_for("networkReport.visible().width === 8 && networkReport.visible().y === 4");
    reader.browser.run("location.hash = '#length=3';");
    reader.browser.wait_for("networkReport.visible().width === 32 && networkReport.view.length === 3");
    // Where nothing is left to zoom out of, the wheel is the page's.
    let is_taken = |delta: i32| {
        reader.browser.run(&format!(
            "const event = new WheelEvent('wheel', {{ deltaY: {delta}, cancelable: true }});
             document.getElementById('matrix').dispatchEvent(event);
             return event.defaultPrevented;"
        ))
    };
    assert_eq!([is_taken(100), is_taken(-100), is_taken(100)], [json!(false), json!(true), json!(true)]);
    reader.expect_no_complaints();
}

#[test]
fn a_table_that_is_downloaded_has_no_formulas() {
    let folder = Folder::new();
    let mut machine = netmatrix::measure::synthetic::Machine::leaf_spine(4, 1, 1);
    machine.hosts = netmatrix::units::Hosts::new(["=1+1", "-x", "n3", "'n4"]);
    let prefix = folder.store("odd", &measured(&machine, &[64], 5));
    let reader = Reader::open(&folder.report("odd", &[&prefix], &[]));
    let downloads = folder.path("downloads");
    fs::create_dir(&downloads).unwrap();
    reader.browser.chromium("Browser.setDownloadBehavior", &json!({"behavior": "allow", "downloadPath": downloads}));
    let table = reader.download("[data-table=matrix]", &downloads.join("odd_one_to_one_median_64.csv"));
    let table = String::from_utf8(table).unwrap();
    assert!(table.contains("64,0,1,'=1+1,'-x,") && table.contains("64,2,3,n3,''n4,"), "{table}");
    reader.expect_no_complaints();
}

#[test]
fn every_figure_is_a_file_and_tells_its_values() {
    let folder = Folder::new();
    let (before, after) = (folder.store("before", &measured(&healthy(), &LENGTHS, 20)), folder.faults());
    let page = folder.report("compare", &[&after], &["--compare", before.to_str().unwrap()]);
    let reader = Reader::open(&page);
    let downloads = folder.path("downloads");
    fs::create_dir(&downloads).unwrap();
    reader.browser.chromium("Browser.setDownloadBehavior", &json!({"behavior": "allow", "downloadPath": downloads}));
    reader.show(&json!({"compare": 0, "source": 4, "destination": 9, "line": "column"}));
    let table = |button: &str, file: &str| {
        let bytes = reader.download(&format!("[data-table={button}]"), &downloads.join(file));
        String::from_utf8(bytes).unwrap().lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let column = table("line", "faults_one_to_one_median_column_node005_1.csv");
    assert_eq!(column.len(), 1 + LENGTHS.len() * 31);
    assert!(column[1].starts_with("0,0,9,node001:0,node005:1,"), "{}", column[1]);
    let histogram = table("histogram", "faults_one_to_one_median_1048576_histogram.csv");
    let pairs: usize =
        histogram[1..].iter().map(|line| line.rsplit(',').next().unwrap().parse::<usize>().unwrap()).sum();
    // All but those of a host with two ranks that does not answer.
    assert_eq!(pairs, 32 * 31 - 120);

    reader.show(&json!({"compare": 1}));
    let pair = table("pair", "faults_one_to_one_median_node003_0_node005_1_difference.csv");
    assert_eq!(pair[0], "length,median_seconds,min_seconds,max_seconds,median_before_seconds");
    let fields: Vec<f64> = pair[1 + LAST].split(',').map(|field| field.parse().unwrap()).collect();
    let expected = [&after, &before].map(|run| matrix(run, Statistic::Median, LAST)[(4, 9)]);
    assert!((fields[1] / expected[0] - 1.0).abs() < 0.01 && (fields[4] / expected[1] - 1.0).abs() < 0.01, "{fields:?}");
    assert!(reader.text("#pair-text").contains("Dashed: median of before"), "{}", reader.text("#pair-text"));

    for (part, name) in
        [("line", "column_node005_1"), ("pair", "node003_0_node005_1"), ("histogram", "1048576_histogram")]
    {
        let file = downloads.join(format!("faults_one_to_one_median_{name}_difference.png"));
        let pixels = png_pixels(&reader.download(&format!("[data-picture={part}]"), &file));
        // What the page shows is what is saved: paper and what is drawn most, but not where the mouse is.
        let [paper, drawn, ..] = reader.colours(part)[..] else { panic!("{part} is empty") };
        for colour in [paper, drawn] {
            let count = pixels.as_chunks::<4>().0.iter().filter(|pixel| pixel[..3] == colour).count();
            assert!(count >= 100, "{part}: {count} pixels have the colour {colour:?}");
        }
    }
    let hover = |canvas: &str, x: f64| {
        let place = reader.browser.run(&format!(
            "document.getElementById('{canvas}').scrollIntoView({{ behavior: 'instant', block: 'center' }});
             await new Promise((drawn) => requestAnimationFrame(drawn));
             const {{ left, top, width, height }} = document.getElementById('{canvas}').getBoundingClientRect();
             return [left + {x} * (width - 96) + 62, top + height / 2];"
        ));
        reader.browser.hover(place[0].as_f64().unwrap(), place[1].as_f64().unwrap());
        reader.drawn();
        reader.text("#tip")
    };
    let tip = hover("pair", 0.999);
    assert!(tip.contains("1M bytes") && tip.contains("before"), "{tip}");
    let tip = hover("histogram", 0.005);
    assert!(tip.contains(" to ") && tip.contains("pair"), "{tip}");
    let tip = hover("line", 0.5);
    assert!(tip.contains("node005:1") && tip.contains("that of before"), "{tip}");
    reader.show(&json!({"compare": 0}));
    let tip = hover("line", 0.5);
    assert!(tip.contains("the median"), "{tip}");
    reader.expect_no_complaints();
}

#[test]
fn paper_is_white() {
    let folder = Folder::new();
    let reader = Reader::open(&folder.report("faults", &[&folder.faults()], &[]));
    reader.browser.run("document.getElementById('theme').click();");
    let corner = || {
        reader.browser.run(
            "const copy = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
             copy.drawImage(document.getElementById('matrix'), 0, 0);
             return [...copy.getImageData(1, 1, 1, 1).data].slice(0, 3);",
        )
    };
    assert_eq!(corner(), json!([20, 23, 27]));
    reader.browser.run("window.dispatchEvent(new Event('beforeprint'));");
    assert_eq!(corner(), json!([255, 255, 255]));
    reader.browser.run("window.dispatchEvent(new Event('afterprint'));");
    assert_eq!(corner(), json!([20, 23, 27]));
    reader.expect_no_complaints();
}

#[test]
fn long_names_keep_what_tells_them_apart() {
    let folder = Folder::new();
    let mut machine = healthy();
    let names = (0..32).map(|rank| format!("rack7-blade-{:04}.cluster.example.org", rank / 2));
    machine.hosts = netmatrix::units::Hosts::new(names);
    let prefix = folder.store("long", &measured(&machine, &LENGTHS, 5));
    let reader = Reader::open(&folder.report("long", &[Path::new(&prefix)], &[]));
    reader.screenshot("long");
    let place = reader.place_of(4, 9);
    reader.browser.click(place.0, place.1);
    reader
        .browser
        .wait_for("document.getElementById('picked').textContent.includes('rack7-blade-0002.cluster.example.org:0')");
    let brief = reader.browser.run("return networkReport.axisLabels().slice(4, 6)");
    assert_eq!(brief, json!(["rack7-blade-0002:0", "rack7-blade-0002:1"]));
    reader.expect_no_complaints();
}

#[test]
fn a_measured_diagonal_is_drawn_but_is_no_pair() {
    let folder = Folder::new();
    let run = folder.store("all", &measured_as(Mode::AllToAll, &healthy(), &LENGTHS, 5));
    let reader = Reader::open(&folder.report("all", &[&run], &[]));
    reader.expect_value(3, 3, matrix(&run, Statistic::Median, LAST)[(3, 3)]);
    assert!(reader.value(3, 3) > 0.0);
    assert!(reader.text("#summary").starts_with("992 pairs"), "{}", reader.text("#summary"));
    reader.browser.wait_for("document.getElementById('empty').hidden");
    reader.expect_no_complaints();
}

#[test]
fn a_missing_cell_says_why() {
    let folder = Folder::new();
    let reader = Reader::open(&folder.report("faults", &[&folder.faults()], &[]));
    // node006 does not answer.
    let place = reader.place_of(10, 3);
    reader.browser.hover(place.0, place.1);
    reader.browser.wait_for("document.getElementById('tip').textContent.includes('missing: timed out')");
    reader.expect_no_complaints();
}

#[test]
fn a_single_length_is_small_too() {
    let folder = Folder::new();
    let size = fs::metadata(folder.large(1024, 1, &[Statistic::Median])).unwrap().len();
    assert!(size <= 1_500_000, "a million values take {size} bytes");
}
