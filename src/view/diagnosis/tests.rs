//! Sentences.

use super::{evidence::ruled_out, *};
use crate::{
    analysis::diagnose::{Agreement, AtLength},
    plan::Mode,
    units::Bytes,
};

fn at(length: u64, is_meant: bool) -> AtLength {
    AtLength { length: Bytes(length), ratio: 1.5, usual_seconds: 4e-6, extra_seconds: 2e-6, is_meant }
}

/// A host that is slow both ways by a half, at the second and third of three lengths.
fn finding() -> Finding {
    Finding {
        kind: Kind::Node,
        hosts: vec!["node017".to_owned()],
        toward: Vec::new(),
        rank: None,
        direction: Direction::Both,
        symptom: Symptom::Latency,
        modes: vec![Mode::OneToOne],
        lengths: (Bytes(4096), Bytes(1 << 20)),
        ratio: 1.5,
        extra_seconds: 2e-6,
        confidence: 0.9987,
        cells: Agreement { slow: 29, of: 30 },
        share: None,
        share_of_time: None,
        elsewhere: None,
        waited: None,
        retest: None,
        curve: vec![at(0, false), at(4096, true), at(1 << 20, true)],
    }
}

fn diagnosis(findings: Vec<Finding>, invalid: &[&str]) -> Diagnosis {
    Diagnosis {
        runs: vec![],
        hosts: (0..16).map(|host| format!("node{host:03}")).collect(),
        group: (0..16).map(|host| host / 12).collect(),
        findings,
        remarks: Vec::new(),
        invalid: invalid.iter().map(|&reason| reason.to_owned()).collect(),
        confidence: 0.99,
    }
}

#[test]
fn a_sentence_says_who_how_much_and_from_where_on() {
    assert_eq!(
        sentence(&finding()),
        "node017 sends and receives 1.50 times as slowly as its peers (up to 2.00 us more), from 4K on"
    );
    let send = Finding { direction: Direction::Send, ratio: 12.34, ..finding() };
    assert!(sentence(&send).starts_with("node017 sends 12 times as slowly"), "{}", sentence(&send));
    let receive = Finding { direction: Direction::Receive, symptom: Symptom::Bandwidth, ratio: 2.0, ..finding() };
    let told = "node017 receives at 0.50 of the usual bandwidth (2.00 times as long, up to 2.00 us more), from 4K on";
    assert_eq!(sentence(&receive), told);
    let some = Finding { share: Some(0.371), ..finding() };
    assert!(sentence(&some).ends_with("from 4K on, with 37 % of the others"), "{}", sentence(&some));
    // Little of it is not said as a share.
    let little = Finding { symptom: Symptom::Bandwidth, ratio: 1.2, ..finding() };
    assert!(sentence(&little).contains("1.20 times as slowly"), "{}", sentence(&little));
    let jitter = Finding { symptom: Symptom::Jitter, ..finding() };
    assert_eq!(sentence(&jitter), "node017: medians are usual, but samples scatter 1.50 times as far, from 4K on");
    for (symptom, part) in [(Symptom::Duplex, "when it sends and receives at once"), (Symptom::Noise, "while others")] {
        let told = sentence(&Finding { symptom, direction: Direction::Receive, ..finding() });
        assert!(told.starts_with("node017 (receiving): takes 1.50 times as long ") && told.contains(part), "{told}");
    }
}

#[test]
fn a_host_that_somebody_hears_is_not_silent() {
    let lost = |slow, of| sentence(&Finding { symptom: Symptom::Silent, cells: Agreement { slow, of }, ..finding() });
    assert!(lost(30, 30).contains("exchanges nothing with any other host"), "{}", lost(30, 30));
    assert!(!lost(29, 30).contains("nothing") && lost(29, 30).contains("29 of 30 cells fail"), "{}", lost(29, 30));
}

#[test]
fn few_failures_are_counted_and_blame_nothing() {
    let few = |symptom| {
        let cells = Agreement { slow: 2, of: 992 };
        sentence(&Finding { kind: Kind::Fabric, hosts: vec![], symptom, cells, ..finding() })
    };
    assert_eq!(few(Symptom::Lossy), "no place that can be named: 2 of 992 cells fail or time out, from 4K on");
    let damaged = few(Symptom::Damaged);
    assert_eq!(damaged, "no place that can be named: payloads arrive damaged in 2 of 992 cells, from 4K on");
}

#[test]
fn whoever_it_is_is_named() {
    let two = vec!["node001".to_owned(), "node002".to_owned()];
    let group =
        Finding { kind: Kind::Group, hosts: (1..=6).map(|host| format!("node{host:03}")).collect(), ..finding() };
    assert_eq!(who(&group), "the way between node[001-006] (6 hosts) and all others carries messages");
    assert!(who(&Finding { direction: Direction::Send, ..group.clone() }).ends_with(" outward"));
    assert!(who(&Finding { direction: Direction::Receive, ..group.clone() }).ends_with(" inward"));
    let routes = Finding { kind: Kind::Routes, ..group.clone() };
    assert!(who(&routes).ends_with(" and all others carry messages"), "{}", who(&routes));
    let gate = Finding { kind: Kind::Gate, toward: group.hosts[..2].to_vec(), ..group };
    let (own, other) = ("node[003-006] (4 hosts)", "node[001-002] (2 hosts)");
    assert_eq!(who(&gate), format!("the way between {own} and {other} carries messages"));
    let one_way = Finding { direction: Direction::Send, ..gate.clone() };
    assert_eq!(who(&one_way), format!("the way from {own} to {other} carries messages"));
    let back = Finding { direction: Direction::Receive, ..gate };
    assert_eq!(who(&back), format!("the way from {other} to {own} carries messages"));
    let unnamed = Finding { kind: Kind::Fabric, hosts: two.clone(), ..finding() };
    assert!(
        who(&unnamed).starts_with("a way that some pairs of node[001-002] (2 hosts) share, and that cannot be named")
    );
    let late = Finding { modes: vec![Mode::Bcast], ..unnamed };
    assert_eq!(who(&late), "one of node[001-002] (2 hosts), and a broadcast does not show which, carries messages");
    assert!(next_check(&late).starts_with("one_to_one"));
    assert!(!next_check(&Finding { hosts: vec![], ..late }).starts_with("one_to_one"));
    let link = Finding { kind: Kind::Link, hosts: two, ..finding() };
    assert_eq!(who(&link), "the link between node001 and node002 carries messages");
    let one_way = Finding { direction: Direction::Send, ..link };
    assert_eq!(who(&one_way), "the link from node001 to node002 carries messages");
    assert_eq!(who(&Finding { kind: Kind::Rank, rank: Some(5), ..finding() }), "rank 5 on node017 sends and receives");
}

#[test]
fn lengths_are_told_as_a_range() {
    let of = |meant: [bool; 3]| {
        let all = [0, 4096, 1 << 20];
        let curve: Vec<_> = all.iter().zip(meant).map(|(length, meant)| at(*length, meant)).collect();
        let mut inside = curve.iter().filter(|at| at.is_meant).map(|at| at.length);
        let first = inside.next().unwrap();
        lengths(&Finding { lengths: (first, inside.next_back().unwrap_or(first)), curve, ..finding() })
    };
    assert_eq!(of([true; 3]), "at all lengths");
    assert_eq!(of([false, true, true]), "from 4K on");
    assert_eq!(of([true, true, false]), "up to 4K");
    assert_eq!(of([false, true, false]), "at 4K bytes");
    let inner = vec![at(0, false), at(64, true), at(4096, true), at(1 << 20, false)];
    assert_eq!(lengths(&Finding { lengths: (Bytes(64), Bytes(4096)), curve: inner, ..finding() }), "from 64 to 4K");
}

#[test]
fn support_tells_cells_confidence_retests_and_modes() {
    assert_eq!(support(&finding()), "29 of 30 pairs agree; confidence 99.87 %");
    let sure = Finding { kind: Kind::Link, confidence: 1.0, retest: Some(RetestVerdict::Confirmed), ..finding() };
    assert_eq!(support(&sure), "29 of 30 cells agree; confidence over 99.99 %; re-measured alone: confirmed");
    let modes = vec![Mode::OneToOne, Mode::Put];
    let several = Finding { kind: Kind::Rank, modes, retest: Some(RetestVerdict::Transient), ..finding() };
    let told = support(&several);
    assert!(
        told.starts_with("29 of 30 lengths agree") && told.ends_with("may have passed; seen in one_to_one, put"),
        "{told}"
    );
}

#[test]
fn what_to_check_depends_on_what_it_is() {
    let contention = Finding { retest: Some(RetestVerdict::Contention), ..finding() };
    assert!(next_check(&contention).starts_with("routing tables"));
    let checks = [
        (Kind::Group, Symptom::Bandwidth, "uplinks"),
        (Kind::Link, Symptom::Latency, "route"),
        (Kind::Rank, Symptom::Bandwidth, "core"),
        (Kind::Node, Symptom::Latency, "BIOS"),
        (Kind::Node, Symptom::Bandwidth, "PCIe slot"),
        (Kind::Node, Symptom::Jitter, "daemons"),
        (Kind::Node, Symptom::Duplex, "duplex setting"),
        (Kind::Node, Symptom::Noise, "flow control"),
    ];
    for (kind, symptom, word) in checks {
        let check = next_check(&Finding { kind, symptom, ..finding() });
        assert!(check.contains(word), "{kind:?} {symptom:?}: {check}");
    }
    let one_way = Finding { symptom: Symptom::Bandwidth, direction: Direction::Receive, ..finding() };
    assert!(next_check(&one_way).starts_with("cable and transceiver"));
}

#[test]
fn reasons_that_modes_share_are_told_once() {
    let told = |all: &[&str]| reasons(&all.iter().map(|&reason| reason.to_owned()).collect::<Vec<_>>());
    assert_eq!(
        told(&["put: why", "get: why", "put: why", "bcast: other: why"]),
        ["put, get: why", "bcast: other: why"]
    );
    assert_eq!(told(&["no mode"]), ["no mode"]);
}

#[test]
fn the_first_line_is_the_verdict() {
    let first =
        |findings, invalid: &[&str], confidence| headline(&Diagnosis { confidence, ..diagnosis(findings, invalid) });
    assert!(first(vec![], &[], 0.57).ends_with("(57 % confidence)"));
    assert!(first(vec![], &[], 0.9999).ends_with("(99.99 % confidence)"));
    assert_eq!(first(vec![finding(); 2], &["put: why"], 0.99), "FINDINGS: 2 findings on 16 hosts");
    assert_eq!(first(vec![], &["put: why"], 0.99), "INVALID: this measurement of 16 hosts cannot be judged");
}

#[test]
fn no_name_of_a_host_adds_a_word_to_the_last_line() {
    let found = Finding { hosts: vec!["n1 verdict=healthy findings=0".to_owned()], ..finding() };
    let line = last_line(&diagnosis(vec![found], &[]));
    assert!(
        line.starts_with("RESULT verdict=findings findings=1 hosts=16 worst=n1\\u{20}verdict=healthy\\u{20}"),
        "{line}"
    );
    assert_eq!(line.split(' ').filter(|word| word.starts_with("verdict=")).count(), 1, "{line}");
}

#[test]
fn lines_are_broken_before_they_are_too_long() {
    let mut out = Vec::new();
    paragraph(&mut out, "F1  ", &"word ".repeat(40).trim_end().replace("word word word", "a longer-word b")).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(text.lines().all(|line| line.chars().count() <= WIDTH && line == line.trim_end()), "{text}");
    assert!(text.lines().count() > 2 && text.lines().skip(1).all(|line| line.starts_with("    ")), "{text}");
    // A word that is too long stands alone.
    let mut out = Vec::new();
    paragraph(&mut out, "  ", &format!("a {} b", "x".repeat(90))).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), format!("  a\n  {}\n  b\n", "x".repeat(90)));
}

#[test]
fn evidence_rules_out_what_else_it_could_be() {
    let lines = |finding: &Finding| ruled_out(finding).join(" ");
    assert!(lines(&finding()).contains("Not one link"));
    let at_times = Finding { share_of_time: Some(0.25), cells: Agreement { slow: 8, of: 32 }, ..finding() };
    assert!(lines(&at_times).contains("Not some of its partners") && !lines(&at_times).contains("Not one link"));
    assert!(sentence(&at_times).ends_with(", for 25 % of the time"), "{}", sentence(&at_times));
    assert!(support(&at_times).starts_with("8 of 32 pairs were measured in that time"), "{}", support(&at_times));
    assert!(next_check(&at_times).starts_with("what else the host did in that time"));
    assert!(lines(&Finding { kind: Kind::Link, ..finding() }).contains("Not its ends"));
    assert!(lines(&Finding { kind: Kind::Group, ..finding() }).contains("Not single hosts"));
    assert!(lines(&Finding { kind: Kind::Rank, ..finding() }).contains("Not the host"));
    // A late announcement looks like a late message.
    let one_way = Finding { direction: Direction::Send, ..finding() };
    assert!(lines(&one_way).contains("--timing clock") && !lines(&finding()).contains("--timing clock"));
}

#[test]
fn the_document_is_plain_numbers() {
    let retest = Some(RetestVerdict::Contention);
    let told = serde_json::to_value(document(&diagnosis(vec![Finding { retest, ..finding() }], &[]))).unwrap();
    assert_eq!((&told["schema"], &told["verdict"]), (&"network_test.diagnosis/1".into(), &"findings".into()));
    assert_eq!(
        told["groups"].as_array().unwrap().iter().map(|group| group.as_array().unwrap().len()).collect::<Vec<_>>(),
        [12, 4]
    );
    let found = &told["findings"][0];
    assert_eq!((&found["id"], &found["kind"], &found["retest"]), (&"F1".into(), &"node".into(), &"contention".into()));
    assert_eq!(
        (found["lengths"].clone(), found["cells"].clone()),
        (serde_json::json!([4096, 1 << 20]), serde_json::json!({"slow": 29, "of": 30}))
    );
    assert_eq!((found["extra_seconds"].as_f64(), found["ratio"].as_f64()), (Some(2e-6), Some(1.5)));
    assert!(told.get("invalid").is_none() && found.get("rank").is_none());
    let invalid = serde_json::to_value(document(&diagnosis(vec![], &["put: why"]))).unwrap();
    assert_eq!((&invalid["verdict"], &invalid["invalid"]), (&"invalid".into(), &serde_json::json!(["put: why"])));
    assert!(invalid["run"].is_null());
}

#[test]
fn remarks_name_who_when_and_what_nobody_can_say() {
    let names = |range: std::ops::Range<usize>| range.map(|host| format!("n{host}")).collect::<Vec<_>>();
    let mode = Mode::OneToOne;
    let lengths = (Bytes(0), Bytes(4096));
    for (remark, text) in [
        (
            Remark::Busy { mode, lengths, ratio: 1.5, share: 0.36 },
            "one_to_one: for 36 % of the time from 0 to 4K bytes, most pairs took 1.50 times as long, as while another \
             job uses the network; what was measured meanwhile is left out",
        ),
        (
            Remark::Halves { mode, hosts: [names(1..5), names(5..9)], length: Bytes(64), ratio: 3.25 },
            "one_to_one: the hosts are two groups, n[1-4] (4 hosts) and n[5-8] (4 hosts); between them a message of 64 \
             bytes takes 3.25 times as long as inside: with two groups alone, nobody can say whether the way between \
             them is slow or built so",
        ),
        (
            Remark::Kinds { mode, hosts: names(1..5), ratio: 1.25 },
            "one_to_one: n[1-4] (4 hosts) are of another kind: they take 1.25 times as long as the others",
        ),
    ] {
        assert_eq!(remark_text(&remark), text);
    }
}
