use std::io::Read;

use flate2::read::DeflateDecoder;

use super::*;
use crate::{
    plan::{Config, Plan},
    record::{Cell, Header, MemoryRun, Provenance},
    stats::Summary,
    units::{Bytes, Hosts},
};

/// Three ranks at two lengths; one cell is missing, and one of the hosts has an evil name.
fn run() -> MemoryRun {
    let hosts = Hosts::new(["a", "</script><script>alert(1)</script>", "c"]);
    let plan = Plan::all(&Config::default(), &hosts).unwrap().remove(0);
    let mut run = MemoryRun::new(Header::of(&plan, Provenance::default()));
    for length in 0..2u64 {
        let cell = |k: u64| match k {
            0 | 4 | 8 => Cell::zero(),
            5 => Cell::missing(State::TimedOut),
            _ => Cell::measured(Summary::of(&mut [1e-6 * (k * (length + 1)) as f64]), 1, State::Measured),
        };
        run.push(Bytes(64 * length), (0..9).map(cell).collect());
    }
    run
}

fn page(run: &MemoryRun) -> String {
    let models = Fit::default();
    let section = Section {
        name: "night\u{202e}\u{9b}31m\u{1b}\0\r\u{8}<\u{feff}\"\\".into(),
        run,
        statistics: &[Statistic::Median],
        notices: &[],
        archive: None,
        diagnosis: None,
        groups: &[],
        is_inferred: false,
        base: None,
        models: &models,
        is_base: false,
    };
    let mut out = Vec::new();
    Page { title: "t".into(), diagnoses: Vec::new(), sections: vec![section] }.write(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// The content of the element that begins with `start`.
fn element<'a>(page: &'a str, start: &str) -> &'a str {
    let after = page.split_once(start).unwrap_or_else(|| panic!("{start} is not in the page")).1;
    after.split_once("</").unwrap().0
}

fn piece(page: &str, number: &Value) -> Vec<u8> {
    let text = element(page, &format!("id=\"c{number}\">"));
    let mut bytes = Vec::new();
    DeflateDecoder::new(&*STANDARD.decode(text).unwrap()).read_to_end(&mut bytes).unwrap();
    bytes
}

/// What the page's script does: codes from residuals and from what was expected of each of nine cells.
fn unpacked(bytes: &[u8], expected: impl Fn(usize) -> i32) -> Vec<i32> {
    let mut long = bytes[9..].chunks(2).map(|pair| i32::from(u16::from_le_bytes([pair[0], pair[1]])));
    let code = |(cell, byte): (usize, &u8)| match byte {
        253 => i32::from(codes::ZERO),
        254 => i32::from(codes::MISSING),
        255 => long.next().expect("there is a code for every byte that says so"),
        byte => expected(cell) + (i32::from(byte >> 1) ^ -i32::from(byte & 1)),
    };
    bytes[..9].iter().enumerate().map(code).collect()
}

#[test]
fn every_value_can_be_unpacked_within_the_stated_error() {
    let run = run();
    let page = page(&run);
    let description: Value = serde_json::from_str(element(&page, "id=\"description\">")).unwrap();
    let kept = &description["runs"][0]["statistics"][0];
    let (step, error) = (kept["step"].as_f64().unwrap(), kept["error"].as_f64().unwrap());
    let base = unpacked(&piece(&page, &kept["base"]), |_| chunks::SHIFT);
    for length in 0..2 {
        let middle = kept["middles"][length].as_i64().unwrap() as i32;
        let unpacked_codes =
            unpacked(&piece(&page, &kept["chunks"][length]), |cell| middle + base[cell] - chunks::SHIFT);
        for (code, original) in unpacked_codes.into_iter().zip(run.matrix(Statistic::Median, length).unwrap().values())
        {
            match code {
                0 => assert!(original.is_nan()),
                1 => assert_eq!(*original, 0.0),
                _ => {
                    let value = codes::LOWEST * (f64::from(code - 2) * step).exp();
                    assert!((value / original - 1.0).abs() <= error * 1.0001, "{value} instead of {original}");
                }
            }
        }
    }
    assert_eq!(piece(&page, &description["runs"][0]["state_chunks"][1])[5], State::TimedOut.id() as u8);
}

#[test]
fn nothing_in_a_file_can_become_markup() {
    let page = page(&run());
    assert!(!page.contains("alert(1)</script>"), "the host's name is data");
    let description = element(&page, "id=\"description\">");
    let name = serde_json::from_str::<Value>(description).unwrap()["runs"][0]["hosts"][1].clone();
    assert_eq!(name, "</script><script>alert(1)</script>");
    // Nor can it hide in a text that somebody copies into a terminal.
    let name = serde_json::from_str::<Value>(description).unwrap()["runs"][0]["name"].clone();
    assert_eq!(name, "night\\u{202e}\\u{9b}31m\\u{1b}\\u{0}\\r\\u{8}<\\u{feff}\"\\");
    assert!(!description.contains(is_hidden));
}

#[test]
fn the_policy_allows_the_own_script_and_style_alone() {
    let page = page(&run());
    let policy = element(&page, "Content-Security-Policy\" content=\"");
    assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
    assert!(!policy.contains("unsafe"), "{policy}");
    let script = page.rsplit_once("<script>").unwrap().1.split_once("</script>").unwrap().0;
    assert!(policy.contains(&STANDARD.encode(Sha256::digest(script))), "{policy}");
    for address in ["http://", "https://", " src=", "@import", "url("] {
        assert!(!page.contains(address), "the page has `{address}`");
    }
}

#[test]
fn a_run_without_lengths_has_a_page() {
    let mut empty = MemoryRun::new(run().header().clone());
    assert!(page(&empty).contains("\"statistics\":[]"));
    empty.push(Bytes(0), vec![Cell::missing(State::Failed); 9]);
    assert!(page(&empty).contains("\"spans\":[null]"));
}
