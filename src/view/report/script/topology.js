// The hosts that are near each other, as nested boxes, with what was found out about them.

// Up to so many hosts all boxes are open; of more only those with findings.
const MANY_HOSTS = 128;

// Number and title of the first finding that names a host, by host.
function foundHosts(of) {
  const found = new Map();
  findingsOf(of).forEach((finding, index) => {
    if (finding.kind === "fabric") return;
    for (const host of ranksOf(finding, of).map((rank) => of.host_of_rank[rank])) {
      if (!found.has(host)) found.set(host, { number: index + 1, title: titleOf(finding) });
    }
  });
  return found;
}

function showTopology() {
  const of = run();
  byId("topology").hidden = !of.groups.length;
  byId("topology-title").textContent = of.is_inferred ? "Hosts that are near each other, as the times show it" : "Which hosts share a switch";
  const top = of.groups.length - 1;
  byId("tree").replaceChildren(...(top < 0 ? [] : boxes(of, top, of.groups[top], foundHosts(of))));
}

// The groups of a level as boxes, each with the groups of the level below that lie in it.
function boxes(of, level, groups, found) {
  return groups.map(({ name, hosts }) => {
    const inside = new Set(hosts);
    const below = level > 0 ? of.groups[level - 1].filter((group) => group.hosts.every((host) => inside.has(host))) : [];
    // A group that no other one shares a switch with stands on several levels under one name: one box is enough.
    if (below.length === 1 && below[0].name === name) return boxes(of, level - 1, below, found)[0];
    const content = below.length ? boxes(of, level - 1, below, found) : hosts.map((host) => hostButton(of, host, found.get(host)));
    const isOpen = below.length > 0 || of.hosts.length <= MANY_HOSTS || hosts.some((host) => found.has(host));
    const heading = `${name}, ${hosts.length} ${hosts.length === 1 ? "host" : "hosts"}`;
    return element("details", { className: "group", open: isOpen },
      element("summary", { textContent: heading }),
      element("div", { className: "members" }, ...content));
  });
}

function hostButton(of, host, finding) {
  return element("button", {
    type: "button",
    className: finding ? "host found" : "host",
    textContent: finding ? `${finding.number}: ${of.hosts[host]}` : of.hosts[host],
    title: finding ? finding.title : of.hosts[host],
    onclick: () => showRank(of.ranksOfHost[host][0]),
  });
}
