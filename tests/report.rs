//! Reports as their readers meet them: pages that `network_analyze report` wrote, in a real browser.

#[path = "common/browser.rs"]
mod browser;
#[path = "common/lomonosov.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod lomonosov;
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
    let runs = [("faults", folder.faults()), ("lomonosov", folder.lomonosov()), ("large", folder.large())];
    for (name, run) in runs {
        let page = folder.report(name, &[&run], &[]);
        let size = std::fs::metadata(&page).unwrap().len();
        browser.open(&format!("file://{}", page.display()));
        browser.wait_for("document.documentElement.dataset.ready");
        println!("{name}: {size} bytes; opened after {} ms", browser.run("return networkReport.timings.opened"));
        for entry in browser.log("browser") {
            println!("console: {entry}");
        }
        screenshot(&browser, name);
    }
    let _: Value = json!(null);
}
