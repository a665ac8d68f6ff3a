// The hosts that share a switch, as nested boxes, with what was found out about them.

// Number and title of the first finding that names a host.
function findingOf(host, of) {
  const findings = findingsOf(of);
  const isNamed = (name) => name === of.hosts[host] || ranksNamed(name, of).some((rank) => of.host_of_rank[rank] === host);
  const number = findings.findIndex(({ kind, hosts }) => kind !== "fabric" && hosts?.some(isNamed));
  return number < 0 ? null : { number, title: titleOf(findings[number]) };
}

function showTopology() {
  const of = run();
  const section = byId("topology");
  section.hidden = !of.groups.length;
  if (!of.groups.length) return;
  const boxes = nested(of.groups, of.groups.length - 1, of.groups.at(-1), of);
  byId("tree").replaceChildren(...boxes);
}

// The groups of a level as boxes, each with the groups of the level below that lie in it.
function nested(levels, level, groups, of) {
  return groups.map(({ name, hosts }) => {
    const inside = new Set(hosts);
    const below = level > 0 ? levels[level - 1].filter((group) => group.hosts.every((host) => inside.has(host))) : [];
    const content = below.length ? nested(levels, level - 1, below, of) : hosts.map((host) => hostButton(host, of));
    const heading = `${name}, ${hosts.length} ${hosts.length === 1 ? "host" : "hosts"}`;
    return element("div", { className: "group" }, element("h4", { textContent: heading }), element("div", { className: "members" }, ...content));
  });
}

function hostButton(host, of) {
  const found = findingOf(host, of);
  return element("button", {
    type: "button",
    className: found ? "host found" : "host",
    textContent: found ? `${found.number + 1}: ${of.hosts[host]}` : of.hosts[host],
    title: found ? found.title : of.hosts[host],
    onclick: () => showRank(of.ranksOfHost[host][0]),
  });
}
