//! Somebody who looks at a report.

use std::{
    env, fs,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::browser::Browser;

/// A browser with a report in it.
pub struct Reader {
    pub browser: Browser,
}

impl Reader {
    /// Opens a page and waits until everything is drawn.
    #[track_caller]
    pub fn open(page: &Path) -> Self {
        let reader = Self { browser: Browser::start(1500, 1400) };
        reader.browser.open(&format!("file://{}", page.display()));
        reader.wait();
        reader
    }

    /// Waits until everything is drawn.
    #[track_caller]
    pub fn wait(&self) {
        self.browser.wait_for("document.documentElement.dataset.ready === 'yes'");
    }

    /// Changes what is shown, and waits for it.
    pub fn show(&self, changes: &Value) {
        self.browser.run(&format!("await networkReport.show({changes});"));
    }

    /// The text of an element, as a person can read it.
    pub fn text(&self, selector: &str) -> String {
        let body = format!("return document.querySelector({}).textContent", Value::from(selector));
        self.browser.run(&body).as_str().unwrap().to_owned()
    }

    /// A number that a function body returns; NaN for what is no number.
    pub fn number(&self, body: &str) -> f64 {
        self.browser.run(body).as_f64().unwrap_or(f64::NAN)
    }

    /// What the matrix shows for a pair.
    pub fn value(&self, source: usize, destination: usize) -> f64 {
        self.number(&format!("return networkReport.value({source}, {destination})"))
    }

    /// The matrix shows this value, as exactly as the page claims.
    #[track_caller]
    pub fn expect_value(&self, source: usize, destination: usize, original: f64) {
        let shown = self.value(source, destination);
        let claim = self.text("#exactness");
        let percent =
            claim.split(' ').find_map(|word| word.parse::<f64>().ok()).expect("the page says how exact it is");
        let allowed = percent / 100.0 * original * 1.0001;
        assert!(
            (shown - original).abs() <= allowed,
            "{source} to {destination}: {shown} instead of {original}; {claim}"
        );
    }

    /// Where the middle of a cell of the whole matrix is in the window.
    pub fn place_of(&self, row: usize, column: usize) -> (f64, f64) {
        let place = self.browser.run(&format!(
            "document.getElementById('matrix').scrollIntoView({{ behavior: 'instant', block: 'center' }});
             await new Promise((drawn) => requestAnimationFrame(drawn));
             const box = document.getElementById('matrix').getBoundingClientRect();
             const {{ x, y }} = networkReport.placeOfCell({row}, {column});
             return [box.left + x, box.top + y];"
        ));
        (place[0].as_f64().unwrap(), place[1].as_f64().unwrap())
    }

    /// Red, green and blue in the middle of a cell of the whole matrix, over some pixels.
    pub fn colour(&self, row: usize, column: usize) -> [u8; 3] {
        let colour = self.browser.run(&format!(
            "const {{ x, y }} = networkReport.placeOfCell({row}, {column});
             const copy = document.createElement('canvas');
             const pen = copy.getContext('2d', {{ willReadFrequently: true }});
             pen.drawImage(document.getElementById('matrix'), 2 - Math.round(x), 2 - Math.round(y));
             const {{ data }} = pen.getImageData(0, 0, 4, 4);
             return [0, 1, 2].map((k) => Math.round(data.filter((_, at) => at % 4 === k).reduce((a, b) => a + b) / 16));"
        ));
        [0, 1, 2].map(|channel| colour[channel].as_u64().expect("a channel is a number") as u8)
    }

    /// The pixels across the middle of every cell's right edge, of a matrix of `count` units: row by row.
    pub fn right_edges(&self, count: usize) -> Vec<Vec<u8>> {
        let edges = self.browser.run(&format!(
            "const canvas = document.getElementById('matrix');
             const copy = new OffscreenCanvas(canvas.width, canvas.height);
             const pen = copy.getContext('2d', {{ willReadFrequently: true }});
             pen.drawImage(canvas, 0, 0);
             const edges = [];
             for (let row = 0; row < {count}; row++) {{
               for (let column = 0; column < {count}; column++) {{
                 const {{ x, y }} = networkReport.placeOfCell(row, column + 0.5);
                 edges.push([...pen.getImageData(Math.round(x) - 1, Math.round(y), 2, 1).data]);
               }}
             }}
             return edges;"
        ));
        serde_json::from_value(edges).expect("channels are bytes")
    }

    /// The colours of a canvas, red, green and blue, the most frequent one first.
    pub fn colours(&self, canvas: &str) -> Vec<[u8; 3]> {
        let colours = self.browser.run(&format!(
            "const canvas = document.getElementById('{canvas}');
             const copy = new OffscreenCanvas(canvas.width, canvas.height);
             const pen = copy.getContext('2d', {{ willReadFrequently: true }});
             pen.drawImage(canvas, 0, 0);
             const {{ data }} = pen.getImageData(0, 0, canvas.width, canvas.height);
             const counts = new Map();
             for (let at = 0; at < data.length; at += 4) {{
               if (data[at + 3] < 255) continue;
               const colour = data.slice(at, at + 3).join();
               counts.set(colour, (counts.get(colour) ?? 0) + 1);
             }}
             const frequent = [...counts].sort(([, one], [, other]) => other - one);
             return frequent.map(([colour]) => colour.split(',').map(Number));"
        ));
        serde_json::from_value(colours).expect("a colour has three channels")
    }

    /// Waits until the page has drawn what the last event changed.
    pub fn drawn(&self) {
        self.browser.run("for (const _ of [1, 2]) await new Promise((drawn) => requestAnimationFrame(drawn));");
    }

    /// Presses the button that a selector names, and waits for the file that it gives.
    pub fn download(&self, button: &str, file: &Path) -> Vec<u8> {
        self.browser.run(&format!("document.querySelector('{button}').click();"));
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            match fs::read(file) {
                Ok(bytes) if !bytes.is_empty() => return bytes,
                _ if Instant::now() > end => panic!("{} has not been downloaded", file.display()),
                _ => thread::sleep(Duration::from_millis(50)),
            }
        }
    }

    /// Nothing has been written to the console.
    #[track_caller]
    pub fn expect_no_complaints(&self) {
        let entries = self.browser.log("browser");
        assert!(entries.is_empty(), "the console says {entries:?}");
    }

    /// Keeps a picture where a person wants to look at it.
    pub fn screenshot(&self, name: &str) {
        if let Some(folder) = env::var_os("REPORT_SCREENSHOTS") {
            self.browser.screenshot(&PathBuf::from(folder).join(format!("{name}.png")));
        }
    }
}
