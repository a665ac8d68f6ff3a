use proptest::prelude::*;

use super::*;
use crate::{
    analysis::topology::contradiction::contradictions,
    plan::{Config, Plan, Sweep},
    record::Provenance,
    units::Hosts,
};

fn header(hosts: &Hosts) -> Header {
    let sweep = Sweep::list(&[Bytes(0), Bytes(1 << 20)]).unwrap();
    let config = Config { sweep, ..Config::default() };
    Header::of(&Plan::all(&config, hosts).unwrap().remove(0), Provenance::default())
}

/// From the group of every host; `None`: fits nowhere.
fn inferred(group_of: &[Option<usize>]) -> Inferred {
    let count = group_of.iter().flatten().max().map_or(0, |last| last + 1);
    let members = |group: usize| (0..group_of.len()).filter(move |host| group_of[*host] == Some(group)).collect();
    let hosts = (0..count).map(members).filter(|hosts: &Vec<usize>| !hosts.is_empty());
    let groups: Vec<Found> = hosts.map(|hosts| Found { hosts, inside: [1.2e-6, 8.8e-5] }).collect();
    let pairs = (0..groups.len()).flat_map(|a| (a + 1..groups.len()).map(move |b| [a, b]));
    let between =
        pairs.map(|groups| Between { groups, seconds: [1.8e-6, f64::from(groups[1] as u32) * 1e-4] }).collect();
    let unplaced = (0..group_of.len()).filter(|host| group_of[*host].is_none()).collect();
    Inferred { lengths: [Bytes(0), Bytes(1 << 20)], groups, between, unplaced, are_pairs_few: false }
}

fn drawn(hosts: &Hosts, inferred: &Inferred) -> String {
    let structure = Structure { header: &header(hosts), lengths: 2, inferred, written: None };
    let mut out = Vec::new();
    structure.write_dot(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn text(hosts: &Hosts, inferred: &Inferred, file: Option<&str>) -> String {
    let topology = file.map(|file| Topology::read(file, hosts).unwrap());
    let leaves = topology.as_ref().map(Topology::leaves).unwrap_or_default();
    let found = topology.as_ref().map(|topology| contradictions(&leaves, &topology.missing, inferred, hosts.count()));
    let written = topology.as_ref().map(|topology| Written {
        name: "file.conf".into(),
        topology,
        leaves: &leaves,
        contradictions: found.as_deref().unwrap(),
    });
    let mut out = Vec::new();
    Structure { header: &header(hosts), lengths: 2, inferred, written }.write(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_drawn_is_read_back(
        group_of in proptest::collection::vec(proptest::option::weighted(0.9, 0usize..12), 2..80),
        name in "[a-zA-Z \"{};=<>#/é_-]{0,6}",
        domain in "(\\.site\\.org|)",
    ) {
        prop_assume!(group_of.iter().any(Option::is_some));
        let hosts = Hosts::new((0..group_of.len()).map(|host| format!("{name}{host}{domain}")));
        let inferred = inferred(&group_of);
        let read = Topology::read(&drawn(&hosts, &inferred), &hosts).unwrap();
        let leaves: Vec<_> = read.leaves().into_iter().map(|group| (group.name, group.hosts)).collect();
        let expected: Vec<_> =
            inferred.groups.iter().enumerate().map(|(number, group)| (name_of(number), group.hosts.clone())).collect();
        prop_assert_eq!(leaves, expected);
        prop_assert_eq!(read.missing, inferred.unplaced);
    }
}

#[test]
fn many_groups_are_told_by_their_neighbours() {
    let hosts = Hosts::new((0..20).map(|host| format!("n{host}")));
    let shown = text(&hosts, &inferred(&(0..20).map(|host| Some(host / 2)).collect::<Vec<_>>()), None);
    assert!(shown.contains("nearest at 0 bytes") && shown.contains("--format json has all pairs"), "{shown}");
    assert!(shown.contains("2: 100 us            10: 900 us"), "{shown}");
    let dot = drawn(&hosts, &inferred(&(0..20).map(|host| Some(host / 2)).collect::<Vec<_>>()));
    assert!(dot.contains("between groups, unless written"), "{dot}");
}

#[test]
fn sentences_say_who_is_where() {
    let hosts = Hosts::new((0..8).map(|host| format!("n{host}.site.org")));
    let data = inferred(&[0, 0, 0, 0, 0, 1, 1, 1].map(Some));
    let file = "SwitchName=a Nodes=n[0-3]\nSwitchName=b Nodes=n[4-6]\nSwitchName=top Switches=a,b";
    let shown = text(&hosts, &data, Some(file));
    for part in [
        "file.conf: 2 levels",
        "above: top (7)\n",
        "n4 seems to be on a, not on b",
        "not placed: n7\n",
        "n7, not placed by the file, seems to be on b",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let shown = text(&hosts, &data, Some("graph { a -- {n0 n1}; b -- {n2 n3 n4}; c -- {n5 n6 n7} }"));
    assert!(shown.contains("a and b cannot be distinguished"), "{shown}");
    let shown = text(&hosts, &data, Some("SwitchName=a Nodes=n[0-7]"));
    assert!(
        shown.contains("group 2 (n[5-7]) stands apart, and the file does not know it: its hosts are on a"),
        "{shown}"
    );
    let shown = text(&hosts, &data, Some("SwitchName=a Nodes=n[0-4]\nSwitchName=b Nodes=n[5-7]"));
    assert!(shown.contains("the data agree with file.conf"), "{shown}");
}

#[test]
fn missing_times_are_null_and_a_dash() {
    let hosts = Hosts::new(["n10", "n9"]);
    let mut alone = inferred(&[Some(0), Some(0)]);
    alone.groups[0].inside = [f64::NAN; 2];
    let shown = text(&hosts, &alone, None);
    assert!(shown.contains("      1      2           -            -  n[9-10]"), "{shown}");
    let structure = Structure { header: &header(&hosts), lengths: 2, inferred: &alone, written: None };
    let document = serde_json::to_value(structure.document()).unwrap();
    assert!(document["groups"][0]["inside"]["shortest"].is_null() && document["file"].is_null());
}

#[test]
fn few_pairs_are_said_to_show_no_groups() {
    let hosts = Hosts::new((0..8).map(|host| format!("n{host}")));
    let inferred = inferred(&[Some(0); 8]);
    assert!(!text(&hosts, &inferred, None).contains("too few pairs"));
    let few = Inferred { are_pairs_few: true, ..inferred };
    assert!(text(&hosts, &few, None).contains("too few pairs were measured"));
}
