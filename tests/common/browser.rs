//! A real browser without a screen: Chromium, driven through chromedriver over plain WebDriver.
//!
//! Both are ended with the value. A browser that is missing is a failure: these tests are only built where it is
//! wanted.

use std::{
    env, fs,
    io::{BufRead, BufReader, Read},
    path::Path,
    process::{Child, ChildStdout, Command, Stdio},
    time::Duration,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use tempfile::TempDir;

/// No step of a test takes longer unless something hangs.
const LIMIT: Duration = Duration::from_secs(300);

/// A browser with one window.
pub struct Browser {
    driver: Child,
    /// Kept open: a driver that cannot write ends.
    _said: BufReader<ChildStdout>,
    agent: ureq::Agent,
    /// `http://127.0.0.1:PORT/session/ID`.
    session: String,
    /// Where the browser leaves its temporary files, which it does not remove; gone after the browser.
    _folder: TempDir,
}

impl Browser {
    /// Starts one with a window of this size in pixels.
    pub fn start(width: u32, height: u32) -> Self {
        let program = env::var_os("CHROMEDRIVER").unwrap_or("chromedriver".into());
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let mut driver = Command::new(&program)
            .args(["--port=0", "--log-level=WARNING"])
            .env("TMPDIR", folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {program:?} (Debian: apt install chromium-driver): {error}"));
        let mut said = BufReader::new(driver.stdout.take().unwrap());
        let mut lines = said.by_ref().lines().map_while(Result::ok).take(20);
        let port = lines
            .find_map(|line| line.split("successfully on port ").nth(1)?.trim_end_matches('.').parse::<u16>().ok());
        let config = ureq::Agent::config_builder().timeout_global(Some(LIMIT)).http_status_as_error(false);
        let agent = config.build().into();
        let mut browser = Self { driver, _said: said, agent, session: String::new(), _folder: folder };
        let root = format!("http://127.0.0.1:{}/session", port.expect("chromedriver tells its port"));
        // Without a sandbox, because tests in containers run as root and look at their own pages only.
        let options = json!({"args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--force-device-scale-factor=1", "--no-first-run", format!("--window-size={width},{height}")]});
        let wanted = json!({"capabilities": {"alwaysMatch": {
            "browserName": "chrome",
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
            "timeouts": {"script": 1000 * LIMIT.as_secs(), "pageLoad": 1000 * LIMIT.as_secs()},
        }}});
        let made = browser.call("POST", &root, &wanted);
        browser.session = format!("{root}/{}", made["sessionId"].as_str().expect("a session has a number"));
        browser
    }

    fn call(&self, method: &str, url: &str, body: &Value) -> Value {
        let answer = match method {
            "GET" => self.agent.get(url).call(),
            "DELETE" => self.agent.delete(url).call(),
            _ => self.agent.post(url).send_json(body),
        };
        let mut answer = answer.unwrap_or_else(|error| panic!("{method} {url}: {error}"));
        let mut text: Value =
            answer.body_mut().with_config().limit(1 << 28).read_json().expect("WebDriver speaks JSON");
        assert!(answer.status().is_success(), "{method} {url} {body}: {text}");
        text["value"].take()
    }

    fn post(&self, command: &str, body: &Value) -> Value {
        self.call("POST", &format!("{}/{command}", self.session), body)
    }

    /// Opens an address.
    pub fn open(&self, address: &str) {
        self.post("url", &json!({"url": address}));
    }

    /// Runs a function body in the page and returns what it returns; promises are waited for.
    pub fn run(&self, body: &str) -> Value {
        let wrapped = format!(
            "const done = arguments[arguments.length - 1];
             (async () => {{ {body} }})().then((value) => done({{ value }}), (error) => done({{ error: String(error) }}));"
        );
        let mut outcome = self.post("execute/async", &json!({"script": wrapped, "args": []}));
        assert!(outcome["error"].is_null(), "{}\nin: {body}", outcome["error"]);
        outcome["value"].take()
    }

    /// Waits until an expression is true.
    #[track_caller]
    pub fn wait_for(&self, condition: &str) {
        let body = format!(
            "const end = performance.now() + 120000;
             while (!({condition})) {{
               if (performance.now() > end) return false;
               await new Promise((next) => setTimeout(next, 20));
             }}
             return true;"
        );
        assert_eq!(self.run(&body), true, "this did not become true: {condition}");
    }

    /// What people do with a mouse and keys: actions as WebDriver describes them.
    pub fn act(&self, actions: &Value) {
        self.post("actions", &json!({"actions": actions}));
    }

    /// Moves the mouse to a place of the window.
    pub fn hover(&self, x: f64, y: f64) {
        self.act(&json!([{"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": [
            {"type": "pointerMove", "duration": 0, "x": x as i64, "y": y as i64},
        ]}]));
    }

    /// A click at a place of the window.
    pub fn click(&self, x: f64, y: f64) {
        self.act(&json!([{"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": [
            {"type": "pointerMove", "duration": 0, "x": x as i64, "y": y as i64},
            {"type": "pointerDown", "button": 0},
            {"type": "pointerUp", "button": 0},
        ]}]));
    }

    /// Turns the wheel over a place of the window; negative is away from oneself.
    pub fn wheel(&self, x: f64, y: f64, delta: i32) {
        self.act(&json!([{"type": "wheel", "id": "wheel", "actions": [
            {"type": "scroll", "x": x as i64, "y": y as i64, "deltaX": 0, "deltaY": delta, "duration": 0, "origin": "viewport"},
        ]}]));
    }

    /// Presses and releases a key.
    pub fn key(&self, key: &str) {
        self.act(&json!([{"type": "key", "id": "keys", "actions": [
            {"type": "keyDown", "value": key}, {"type": "keyUp", "value": key},
        ]}]));
    }

    /// What has been logged since the last call: `browser` for the console, `performance` for everything else.
    pub fn log(&self, kind: &str) -> Vec<Value> {
        match self.post("se/log", &json!({"type": kind})) {
            Value::Array(entries) => entries,
            other => panic!("a log is a list: {other}"),
        }
    }

    /// The addresses of all requests since the last call.
    pub fn requests(&self) -> Vec<String> {
        let of_entry = |entry: Value| {
            let message: Value = serde_json::from_str(entry["message"].as_str()?).ok()?;
            let message = &message["message"];
            let is_request = message["method"] == "Network.requestWillBeSent";
            is_request.then(|| message["params"]["request"]["url"].as_str().map(str::to_owned))?
        };
        self.log("performance").into_iter().filter_map(of_entry).collect()
    }

    /// The window as a picture, in a PNG file.
    pub fn screenshot(&self, path: &Path) {
        let picture = self.call("GET", &format!("{}/screenshot", self.session), &Value::Null);
        let bytes = STANDARD.decode(picture.as_str().expect("a picture is a text")).unwrap();
        fs::write(path, bytes).unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
    }

    /// Sends a command of Chromium's own protocol.
    pub fn chromium(&self, command: &str, parameters: &Value) -> Value {
        self.post("goog/cdp/execute", &json!({"cmd": command, "params": parameters}))
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !self.session.is_empty() {
            // Whatever comes of it, the driver is ended next, and takes its browser along.
            let _ = self.agent.delete(&self.session).call();
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
