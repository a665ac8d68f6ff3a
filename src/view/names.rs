//! Names of hosts where there is little room.

use crate::units::Hosts;

/// Names without the domain, where all hosts have the same one: it tells none of them apart. `[host]`.
pub(super) fn without_domain(hosts: &Hosts) -> Vec<String> {
    let domain = |name: &str| name.split_once('.').map(|(_, domain)| domain.to_owned());
    let shared = hosts.names().first().and_then(|name| domain(name));
    let is_shared = shared.is_some() && hosts.count() > 1 && hosts.names().iter().all(|name| domain(name) == shared);
    let brief = |name: &String| match name.split_once('.') {
        Some((host, _)) if is_shared => host.to_owned(),
        _ => name.clone(),
    };
    hosts.names().iter().map(brief).collect()
}

/// What tells every rank from all others, in few characters, for the axes of pictures: `[rank]`.
pub fn brief_labels(hosts: &Hosts) -> Vec<String> {
    let names = without_domain(hosts);
    let label = |rank| match (&names[hosts.host_of(rank)], hosts.ranks_of(hosts.host_of(rank))) {
        (name, [_]) => name.clone(),
        (name, _) => format!("{name}:{}", hosts.place_of(rank)),
    };
    (0..hosts.ranks()).map(label).collect()
}

/// At most `width` characters. Cut in front, since the numbers that tell hosts apart mostly stand behind.
pub(super) fn shortened(name: String, width: usize) -> String {
    let length = name.chars().count();
    if length <= width {
        return name;
    }
    let kept: String = name.chars().skip(length - width.saturating_sub(1)).collect();
    format!("~{kept}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_domain_goes_where_all_hosts_share_it() {
        let brief = |names: &[&str]| without_domain(&Hosts::new(names.iter().copied()));
        assert_eq!(brief(&["n1.site.org", "n2.site.org"]), ["n1", "n2"]);
        assert_eq!(brief(&["n1.a.org", "n1.b.org"]), ["n1.a.org", "n1.b.org"]);
        assert_eq!(brief(&["10.0.0.1", "10.0.0.2"]), ["10.0.0.1", "10.0.0.2"]);
        assert_eq!(brief(&["n1.site.org", "n2"]), ["n1.site.org", "n2"]);
        assert_eq!(brief(&["alone.site.org"]), ["alone.site.org"]);
        assert!(brief(&[]).is_empty());
        assert_eq!(brief_labels(&Hosts::new(["n1.a.org", "n1.a.org", "n2.a.org"])), ["n1:0", "n1:1", "n2"]);
    }

    #[test]
    fn the_end_of_a_long_name_is_kept() {
        assert_eq!(shortened("cluster-node-0012".into(), 9), "~ode-0012");
        assert_eq!(shortened("node12".into(), 9), "node12");
    }
}
