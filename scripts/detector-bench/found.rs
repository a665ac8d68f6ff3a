//! What a diagnosis says, read from its JSON with tolerance for kinds and fields that are new.

use serde_json::Value;

/// A finding, or something that one of its alternatives says.
#[derive(Clone, Debug)]
pub struct Found {
    pub kind: String,
    pub hosts: Vec<String>,
    pub ranks: Vec<usize>,
    pub direction: String,
    pub symptom: String,
    /// First and last length of its range.
    pub lengths: Option<(u64, u64)>,
    /// Other places that explain the same cells.
    pub alternatives: Vec<(String, Vec<String>)>,
    pub words: String,
}

/// What a diagnosis of one run says.
#[derive(Clone, Debug)]
pub struct Said {
    pub findings: Vec<Found>,
    /// Remarks, as they stand.
    pub remarks: Vec<Value>,
    pub is_invalid: bool,
}

fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::Array(values) => values.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        Value::String(text) => vec![text.clone()],
        _ => Vec::new(),
    }
}

/// All numbers in a value, however deep.
fn numbers(value: &Value, into: &mut Vec<u64>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| numbers(value, into)),
        value => into.extend(value.as_u64()),
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// One finding; several hosts of kind node are as many findings.
fn found(finding: &Value) -> Vec<Found> {
    let mut lengths = Vec::new();
    numbers(&finding["lengths"], &mut lengths);
    let mut ranks = Vec::new();
    numbers(&finding["rank"], &mut ranks);
    numbers(&finding["ranks"], &mut ranks);
    let alternatives = ["alternatives", "or"].iter().flat_map(|field| finding[field].as_array()).flatten();
    let whole = Found {
        kind: text(&finding["kind"]),
        hosts: texts(&finding["hosts"]),
        ranks: ranks.into_iter().map(|rank| rank as usize).collect(),
        direction: text(&finding["direction"]),
        symptom: text(&finding["symptom"]),
        lengths: lengths.iter().min().copied().zip(lengths.iter().max().copied()),
        alternatives: alternatives.map(|other| (text(&other["kind"]), texts(&other["hosts"]))).collect(),
        words: text(&finding["explanation"]),
    };
    let is_node = matches!(whole.kind.as_str(), "node" | "host");
    if is_node && whole.hosts.len() > 1 {
        whole.hosts.iter().map(|host| Found { hosts: vec![host.clone()], ..whole.clone() }).collect()
    } else {
        vec![whole]
    }
}

impl Said {
    /// Of a JSON diagnosis. Findings that are marked as remarks are remarks.
    pub fn of(document: &Value) -> Self {
        let none = Vec::new();
        let all = document["findings"].as_array().unwrap_or(&none);
        let is_remark = |finding: &&Value| finding["remark"] == Value::Bool(true) || finding["remark"].is_string();
        let (remarks, findings): (Vec<&Value>, Vec<&Value>) = all.iter().partition(is_remark);
        let further = document["remarks"].as_array().unwrap_or(&none);
        Self {
            findings: findings.into_iter().flat_map(found).collect(),
            remarks: remarks.into_iter().chain(further).cloned().collect(),
            is_invalid: matches!(document["verdict"].as_str(), Some("invalid" | "unjudged" | "cannot_judge") | None),
        }
    }
}
