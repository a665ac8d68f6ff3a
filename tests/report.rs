//! Reports as their readers meet them: pages that `network_analyze report` wrote, in a real browser.

#[path = "common/browser.rs"]
mod browser;
#[path = "common/lomonosov.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod lomonosov;
#[path = "report/large.rs"]
mod large;
#[path = "report/pages.rs"]
mod pages;

use std::{env, path::PathBuf};

use browser::Browser;
use pages::Folder;
use serde_json::{Value, json};

/// Where screenshots go that a person is to look at: the folder that REPORT_SCREENSHOTS names, else nowhere.
fn screenshot(browser: &Browser, name: &str) {
    if let Some(folder) = env::var_os("REPORT_SCREENSHOTS") {
        browser.screenshot(&PathBuf::from(folder).join(format!("{name}.png")));
    }
}

#[test]
fn look() {
    let folder = Folder::new();
    let browser = Browser::start(1500, 1100);
    let diagnosis = folder.diagnosis(&json!([
        {"kind": "node", "hosts": ["node003"], "direction": "send", "symptom": "bandwidth", "lengths": [65536, 1048576], "ratio": 3.9, "extra_seconds": 2.4e-4, "confidence": 0.9999, "cells": {"slow": 60, "of": 62}, "explanation": "node003 sends at a quarter of the bandwidth and receives as fast as the others."},
        {"kind": "link", "hosts": ["node010", "node014"], "direction": "send", "symptom": "bandwidth", "lengths": [65536, 1048576], "ratio": 9.7, "extra_seconds": 7.4e-4, "confidence": 0.999, "cells": {"slow": 4, "of": 4}, "explanation": "Only the way from node010 to node014 is slow."},
        {"kind": "node", "hosts": ["node006"], "direction": "both", "symptom": "latency", "lengths": [0, 1048576], "ratio": 0, "extra_seconds": 0, "confidence": 1, "cells": {"slow": 120, "of": 120}, "explanation": "node006 does not answer."},
    ]));
    let start = std::time::Instant::now();
    let runs = [
        ("faults", folder.report("faults", &[&folder.faults()], &["--diagnosis", diagnosis.to_str().unwrap()])),
        ("lomonosov", folder.report("lomonosov", &[&folder.lomonosov()], &[])),
        ("large", folder.large(1024, if env::var_os("QUICK").is_some() { 2 } else { 32 })),
    ];
    println!("made in {:?}", start.elapsed());
    for (name, page) in runs {
        std::fs::copy(&page, format!("/tmp/rdev/{name}.html")).unwrap();
        let size = std::fs::metadata(&page).unwrap().len();
        if env::var_os("QUICK").is_some() { continue; }
        browser.open(&format!("file://{}", page.display()));
        browser.wait_for("document.documentElement.dataset.ready");
        println!("{name}: {size} bytes; opened after {} ms", browser.run("return networkReport.timings.opened"));
        for entry in browser.log("browser") {
            println!("console: {entry}");
        }
        screenshot(&browser, name);
    }
    let _: Value = json!(null);
    std::process::Command::new("sh").arg("-c").arg(format!("cp {}/*_* /tmp/rdev/", folder.path("").display())).status().unwrap();
}
