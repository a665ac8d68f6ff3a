// What is wrong: as text with buttons that lead to the place, and as marks on the matrix.

// The ranks that a name means: those of a host, or one rank.
function ranksNamed(name, of) {
  const host = of.hosts.indexOf(name);
  if (host >= 0) return of.ranksOfHost[host];
  const rank = of.labels.indexOf(name);
  return rank >= 0 ? [rank] : [];
}

const VERDICTS = {
  healthy: ["Healthy", "No host, link or group stands out."],
  findings: ["Findings", ""],
  invalid: ["No verdict", "The run does not allow one."],
};

const NOT_DIAGNOSED = ["Not diagnosed", "The pictures show what was measured; nothing was judged."];

const findingsOf = (of) => of.diagnosis?.findings ?? [];

const titleOf = ({ kind, hosts = [], direction }) => {
  const all = hosts.join(kind === "link" ? " \u2192 " : ", ");
  const names = hosts.length > 4 ? `${hosts.slice(0, 3).join(", ")} and ${hosts.length - 3} more` : all;
  const way = { send: " when sending", receive: " when receiving" }[kind === "link" ? "" : direction] ?? "";
  return `${kind} ${names}${way}`;
};

function figuresOf(finding) {
  const facts = [finding.symptom];
  if (finding.ratio > 0) facts.push(`${finding.ratio.toPrecision(3)} times the expected time`);
  if (finding.extra_seconds > 0) facts.push(`${formatSeconds(finding.extra_seconds)} more`);
  if (finding.lengths) facts.push(`at ${[...new Set(finding.lengths)].map(formatBytes).join(" to ")} bytes`);
  if (finding.cells) facts.push(`${finding.cells.slow} of ${finding.cells.of} cells`);
  if (finding.confidence > 0) facts.push(`confidence ${finding.confidence >= 0.9995 ? "> 99.9 %" : formatShare(finding.confidence)}`);
  return facts.join(" \u00b7 ");
}

// What was looked at to come to a verdict.
function basisOf({ mode, statistic: judged, lengths, ranks, hosts }) {
  const parts = [
    [judged, mode].filter(Boolean).join(" of "),
    lengths > 0 && `${lengths} ${lengths === 1 ? "message length" : "message lengths"}`,
    ranks > 0 && `${ranks} ranks on ${hosts} ${hosts === 1 ? "host" : "hosts"}`,
  ];
  return `Judged: ${parts.filter(Boolean).join(", ")}.`;
}

function findingItem(finding, number) {
  const { id, explanation, retest, next_check: next } = finding;
  return element("li", {},
    element("button", { type: "button", className: "finding", onclick: () => goTo(finding) },
      element("span", { className: "number", textContent: String(number + 1) }),
      element("strong", { textContent: titleOf(finding) })),
    id ? element("span", { className: "id", textContent: String(id) }) : "",
    element("p", { className: "figures", textContent: figuresOf(finding) }),
    explanation ? element("p", { textContent: explanation }) : "",
    retest ? element("p", {}, element("strong", { textContent: "Measured again: " }), inWords(retest)) : "",
    next ? element("p", {}, element("strong", { textContent: "Next: " }), inWords(next)) : "");
}

function showVerdict() {
  const { diagnosis, notices, lengths, planned } = run();
  const box = byId("verdict");
  const [heading, text] = diagnosis ? (VERDICTS[diagnosis.verdict] ?? VERDICTS.invalid) : NOT_DIAGNOSED;
  const findings = findingsOf(run());
  const count = findings.length ? `${findings.length} ${findings.length === 1 ? "finding" : "findings"}` : heading;
  box.className = diagnosis?.verdict ?? "none";
  const warnings = [...notices];
  if (lengths.length < planned && !notices.some((notice) => notice.includes("unfinished"))) {
    warnings.push(`unfinished: ${lengths.length} message lengths of ${planned} that were planned`);
  }
  box.replaceChildren(
    element("h2", { textContent: count }),
    ...(text ? [element("p", { textContent: text })] : []),
    ...(findings.length ? [element("ol", { className: "found-list" }, ...findings.map(findingItem))] : []),
    ...(diagnosis?.run ? [element("p", { className: "figures", textContent: basisOf(diagnosis.run) })] : []),
    ...warnings.map((warning) => element("p", { className: "notice", textContent: warning })));
}

// Shows the matrix where a finding is seen best: at its last length, with its row, column or cell picked.
function goTo({ kind, hosts = [], direction, lengths, symptom }) {
  const of = run();
  const named = hosts.map((name) => ranksNamed(name, of)).filter((ranks) => ranks.length);
  view.found = -1;
  const at = lengths ? of.lengths.findLastIndex((length) => length <= lengths[1]) : -1;
  if (at >= 0) view.length = at;
  if (symptom === "jitter" && of.statistic("deviation")) view.statistic = "deviation";
  else if (of.statistic("median")) view.statistic = "median";
  if (named.length) {
    const own = named[0][0];
    const other = kind === "link" && named[1] ? named[1][0] : of.labels.findIndex((_, rank) => !named[0].includes(rank));
    const isColumn = direction === "receive" && kind !== "link";
    [view.source, view.destination] = isColumn ? [Math.max(other, 0), own] : [own, Math.max(other, 0)];
    view.line = isColumn ? "column" : "row";
  }
  show({ reveal: named.length > 0, isClose: kind === "link" });
  byId("matrix").focus({ preventScroll: true });
  byId("viewer").scrollIntoView({ behavior: "smooth", block: "start" });
}

// First place and number of places of every run of neighbouring units that any of these ranks is in.
function stretches(ranks) {
  const wanted = new Set(ranks);
  const found = [];
  matrix.units.forEach((unit, place) => {
    if (!unit.ranks.some((rank) => wanted.has(rank))) return;
    const last = found.at(-1);
    if (last && last.first + last.count === place) last.count++;
    else found.push({ first: place, count: 1 });
  });
  return found;
}

// The stretches of rows, or columns, that findings about hosts and ranks are about: { number, first, count, isRow }.
function* markedBands() {
  for (const [index, { kind, hosts = [], direction }] of findingsOf(run()).entries()) {
    if (kind === "fabric" || kind === "link") continue;
    for (const stretch of stretches(hosts.flatMap((name) => ranksNamed(name, run())))) {
      if (direction !== "receive") yield { number: index + 1, ...stretch, isRow: true };
      if (direction !== "send") yield { number: index + 1, ...stretch, isRow: false };
    }
  }
}

function drawMarks(context, grid) {
  if (!view.marks) return;
  const [size, all] = [grid.size(), matrix.units.length];
  context.save();
  context.strokeStyle = themeText("--mark");
  context.lineWidth = 2;
  context.setLineDash([6, 4]);
  for (const { first, count, isRow } of markedBands()) {
    const { x, y } = isRow ? grid.at(0, first) : grid.at(first, 0);
    const [wide, tall] = isRow ? [all, count] : [count, all];
    const gap = gapAround(count * size.x);
    context.strokeRect(x - gap, y - gap, wide * size.x + 2 * gap, tall * size.y + 2 * gap);
  }
  context.setLineDash([]);
  for (const [index, { kind, hosts = [], direction }] of findingsOf(run()).entries()) {
    if (kind !== "link" || hosts.length !== 2) continue;
    const [rows, columns] = hosts.map((name) => stretches(ranksNamed(name, run())));
    for (const row of rows) for (const column of columns) drawLinkMark(context, grid, index + 1, row, column, direction);
  }
  context.restore();
}

// The numbers of marked rows and columns, right of the cells and below them; those of the same place move outwards.
function drawMarkNumbers(context, grid) {
  if (!view.marks) return;
  const [plot, size] = [grid.plot(), grid.size()];
  const taken = [];
  for (const { number, first, count, isRow } of markedBands()) {
    const [start, cells, begin, long] = isRow
      ? [grid.visible.y, size.y, plot.top, plot.height]
      : [grid.visible.x, size.x, plot.left, plot.width];
    const from = Math.max(0, (first - start) * cells);
    const to = Math.min(long, (first + count - start) * cells);
    if (from >= to) continue;
    const along = begin + (from + to) / 2;
    const isTaken = (level) => taken.some((other) => other.isRow === isRow && other.level === level && Math.abs(other.along - along) < 17);
    const level = isTaken(0) ? 1 : 0;
    taken.push({ isRow, level, along });
    const across = (isRow ? plot.left + plot.width : plot.top + plot.height) + 10 + 17 * level;
    if (isRow) drawNumber(context, number, across, along);
    else drawNumber(context, number, along, across);
  }
}

function drawLinkMark(context, grid, number, row, column, direction) {
  const size = grid.size();
  const ring = (rows, columns) => {
    const { x, y } = grid.at(columns.first + columns.count / 2, rows.first + rows.count / 2);
    const radius = Math.max(8, Math.hypot(columns.count * size.x, rows.count * size.y) / 2 + 3);
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.stroke();
    drawNumber(context, number, x + radius + 6, y - radius);
  };
  if (direction !== "receive") ring(row, column);
  if (direction !== "send") ring(column, row);
}

// The finding's number in a disc.
function drawNumber(context, number, x, y) {
  context.fillStyle = themeText("--mark");
  context.beginPath();
  context.arc(x, y, 8, 0, 2 * Math.PI);
  context.fill();
  context.fillStyle = themeText("--mark-ink");
  context.font = `bold 11px ${FONT}`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillText(String(number), x, y + 0.5);
}
