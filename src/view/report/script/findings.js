// What is wrong: as text with buttons that lead to the place, and as marks on the matrix.

// The ranks that a name means: those of a host, or one rank.
function ranksNamed(name, of) {
  const host = of.hosts.indexOf(name);
  if (host >= 0) return of.ranksOfHost[host];
  const rank = of.labels.indexOf(name);
  return rank >= 0 ? [rank] : [];
}

// The ranks that a finding is about.
function ranksOf({ hosts = [], rank }, of) {
  return Number.isInteger(rank) && rank < of.ranks ? [rank] : hosts.flatMap((name) => ranksNamed(name, of));
}

const VERDICTS = {
  healthy: ["Healthy", "No host, link or group is slower than its peers by more than noise."],
  findings: ["Findings", ""],
  invalid: ["No verdict: this measurement cannot be judged", ""],
};

const NOT_DIAGNOSED = ["Not diagnosed", "The pictures show what was measured; nothing was judged."];

// Of so many findings all are open; of more the rest is folded away, so that the matrix is not far below.
const OPEN_FINDINGS = 5;

const findingsOf = (of) => of.diagnosis?.findings ?? [];

const isSeenIn = ({ modes }, of) => !modes?.length || modes.includes(of.mode);

// The findings that the shown run itself shows, with their places in the list: modes that were judged together need not
// agree.
const shownFindings = () => [...findingsOf(run()).entries()].filter(([, finding]) => isSeenIn(finding, run()));

const KINDS = { node: "host", group: "group of hosts" };

const titleOf = ({ kind, hosts = [], direction, rank }) => {
  const all = hosts.join(kind === "link" ? " \u2192 " : ", ");
  const names = hosts.length > 4 ? `${hosts.slice(0, 3).join(", ")} and ${hosts.length - 3} more` : all;
  const way = { send: ", sending", receive: ", receiving" }[kind === "link" ? "" : direction] ?? "";
  const back = kind === "link" && direction === "both" ? " and back" : "";
  return `${KINDS[kind] ?? kind} ${Number.isInteger(rank) ? `${rank} on ` : ""}${names}${way}${back}`;
};

// From which length on, or up to which; the lengths of the run tell whether there are others.
function rangeOf([first, last], of) {
  if (first === last) return `at ${formatBytes(first)} bytes`;
  const [isFirst, isLast] = [first <= of.lengths[0], last >= of.lengths.at(-1)];
  if (isFirst && isLast) return "at all lengths";
  if (isLast) return `from ${formatBytes(first)} bytes on`;
  return isFirst ? `up to ${formatBytes(last)} bytes` : `at ${formatBytes(first)} to ${formatBytes(last)} bytes`;
}

// More digits say nothing.
const confidenceText = (confidence) => (confidence > 0.9999 ? "over 99.99 %" : `${(100 * confidence).toFixed(2)} %`);

function figuresOf(finding) {
  const facts = [finding.symptom];
  if (finding.ratio > 0) facts.push(`${finding.ratio.toPrecision(3)} times the expected time`);
  if (finding.extra_seconds > 0) facts.push(`up to ${formatSeconds(finding.extra_seconds)} more`);
  if (finding.lengths) facts.push(rangeOf(finding.lengths, run()));
  if (finding.cells) facts.push(`${finding.cells.slow} of ${finding.cells.of} agree`);
  if (finding.confidence > 0) facts.push(`confidence ${confidenceText(finding.confidence)}`);
  if (finding.modes?.length) facts.push(`seen in ${finding.modes.join(", ")}`);
  return facts.filter(Boolean).join(" \u00b7 ");
}

// What was looked at to come to a verdict.
function basisOf({ run: first, further_runs: further = [] }) {
  const { statistic: judged, lengths, ranks, hosts } = first;
  const all = [first, ...further];
  const modes = [...new Set(all.map(({ mode }) => mode))].filter(Boolean).join(", ");
  const noises = all.map(({ noise }) => noise).filter(Number.isFinite);
  const percents = [...new Set([Math.min(...noises), Math.max(...noises)].map((noise) => (100 * noise).toFixed(1)))];
  const measured = Math.min(...all.map((each) => each.measured ?? 1));
  const parts = [
    [judged, modes].filter(Boolean).join(" of "),
    lengths > 0 && `${lengths} ${lengths === 1 ? "message length" : "message lengths"}`,
    ranks > 0 && `${ranks} ${ranks === 1 ? "rank" : "ranks"} on ${hosts} ${hosts === 1 ? "host" : "hosts"}`,
    measured < 0.995 && `${Math.round(100 * measured)} % of the pairs measured`,
    noises.length > 0 && `pairs scatter by ${percents.join(" to ")} %`,
  ];
  return `Judged: ${parts.filter(Boolean).join(", ")}.`;
}

// What pairs that were measured again say, in words.
const RETESTS = {
  confirmed: "as slow alone: a fault on this path",
  contention: "usual alone, slow only among others: contention or routing",
  transient: "usual: it may have passed",
};

// What a finding makes of every length.
function curveTable({ curve, lengths }) {
  const row = ({ length, usual_seconds: usual, ratio, extra_seconds: extra }) => {
    const isMeant = lengths && lengths[0] <= length && length <= lengths[1];
    const texts = [formatBytes(length), formatSeconds(usual), formatSeconds(usual + extra), ratio.toPrecision(3), formatSeconds(extra)];
    return element("tr", { className: isMeant ? "meant" : "" }, ...texts.map((textContent) => element("td", { textContent })));
  };
  const heads = ["bytes", "usual", "here", "ratio", "more"].map((textContent) => element("th", { textContent }));
  const known = curve.filter(({ ratio, usual_seconds: usual }) => Number.isFinite(ratio) && Number.isFinite(usual));
  return element("table", {}, element("tr", {}, ...heads), ...known.map(row));
}

function findingItem([number, finding]) {
  const { id, symptom, explanation, retest, next_check: next, curve } = finding;
  const figures = element("p", { className: "figures", textContent: figuresOf(finding) });
  const evidence = [
    explanation ? figures : "",
    retest ? element("p", {}, element("strong", { textContent: "Measured again: " }), RETESTS[retest] ?? inWords(retest)) : "",
    curve?.length ? curveTable(finding) : "",
  ].filter(Boolean);
  return element("li", {},
    element("button", { type: "button", className: "finding", onclick: () => goTo(finding) },
      element("span", { className: "number", textContent: String(number + 1) }),
      element("strong", { textContent: titleOf(finding) + (symptom ? `: ${symptom}` : "") })),
    id ? element("span", { className: "id", textContent: String(id) }) : "",
    explanation ? element("p", { textContent: explanation }) : figures,
    isSeenIn(finding, run()) ? "" : element("p", { className: "figures", textContent: `Not in ${run().mode}: seen in ${finding.modes.join(", ")}, where a click leads.` }),
    next ? element("p", {}, element("strong", { textContent: "Next: " }), inWords(next)) : "",
    evidence.length ? element("details", {}, element("summary", { textContent: "Evidence" }), ...evidence) : "");
}

function findingList(found) {
  const items = found.map(findingItem);
  const list = (shown) => element("ol", { className: "found-list" }, ...shown);
  if (items.length <= OPEN_FINDINGS + 1) return items.length ? [list(items)] : [];
  const rest = items.slice(OPEN_FINDINGS);
  const more = element("summary", { textContent: `${rest.length} more` });
  return [list(items.slice(0, OPEN_FINDINGS)), element("details", { className: "more" }, more, list(rest))];
}

const headingOf = (diagnosis) => {
  const count = diagnosis?.findings?.length ?? 0;
  if (count) return `${count} ${count === 1 ? "finding" : "findings"}`;
  return diagnosis ? (VERDICTS[diagnosis.verdict] ?? VERDICTS.invalid)[0] : NOT_DIAGNOSED[0];
};

// One line for every verdict about other runs of the page: nothing that was found is hidden behind the choice of runs.
function otherVerdicts() {
  const own = run();
  const isFirst = (of, number) => shownRuns.findIndex(({ diagnosis }) => diagnosis === of.diagnosis) === number;
  const others = [...shownRuns.entries()].filter(([number, of]) => of.diagnosis && of.diagnosis !== own.diagnosis && isFirst(of, number));
  return others.map(([number, of]) =>
    element("p", {},
      element("button", { type: "button", className: "finding", textContent: `${of.name} (${of.mode})`, onclick: () => (changeRun(number), show()) }),
      `: ${headingOf(of.diagnosis).toLowerCase()}`));
}

function showVerdict() {
  const { diagnosis, notices, lengths, planned } = run();
  const box = byId("verdict");
  const [, text] = diagnosis ? (VERDICTS[diagnosis.verdict] ?? VERDICTS.invalid) : NOT_DIAGNOSED;
  box.className = diagnosis?.verdict ?? "none";
  const warnings = [...notices];
  if (lengths.length < planned && !notices.some((notice) => notice.includes("unfinished"))) {
    warnings.push(`unfinished: ${lengths.length} message lengths of ${planned} that were planned`);
  }
  const lead = diagnosis?.verdict === "invalid" ? "" : "Cannot be judged: ";
  const reasons = (diagnosis?.invalid ?? []).map((reason) => element("p", { className: "reason", textContent: lead + reason }));
  box.replaceChildren(
    element("h2", { textContent: headingOf(diagnosis) }),
    ...(text ? [element("p", { textContent: text })] : []),
    ...reasons,
    ...findingList([...findingsOf(run()).entries()]),
    ...(diagnosis?.run ? [element("p", { className: "figures", textContent: basisOf(diagnosis) })] : []),
    ...otherVerdicts(),
    ...warnings.map((warning) => element("p", { className: "notice", textContent: warning })));
}

// The run that shows a finding: the shown one, else one that was judged with it.
function runThatShows(finding) {
  if (isSeenIn(finding, run())) return view.run;
  const found = shownRuns.findIndex((of) => of.diagnosis === run().diagnosis && isSeenIn(finding, of));
  return found < 0 ? view.run : found;
}

// Shows the matrix where a finding is seen best: at its last length, with its row, column or cell picked.
function goTo(finding) {
  const { kind, hosts = [], direction, lengths, symptom } = finding;
  const wanted = runThatShows(finding);
  if (wanted !== view.run) changeRun(wanted);
  const of = run();
  const all = ranksOf(finding, of);
  view.found = -1;
  const at = lengths ? of.lengths.findLastIndex((length) => length <= lengths[1]) : -1;
  if (at >= 0) view.length = at;
  if (symptom === "jitter" && of.statistic("deviation")) view.statistic = "deviation";
  else if (of.statistic("median")) view.statistic = "median";
  if (all.length) {
    const end = kind === "link" && hosts[1] ? ranksNamed(hosts[1], of)[0] : undefined;
    const away = new Set(all.map((rank) => of.host_of_rank[rank]));
    const other = end ?? Math.max(of.host_of_rank.findIndex((host) => !away.has(host)), 0);
    const isColumn = direction === "receive" && kind !== "link";
    [view.source, view.destination] = isColumn ? [other, all[0]] : [all[0], other];
    view.line = isColumn ? "column" : "row";
  }
  show({ reveal: all.length > 0, isClose: kind === "link" });
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
  for (const [index, finding] of shownFindings()) {
    const { kind, direction } = finding;
    if (kind === "fabric" || kind === "link") continue;
    for (const stretch of stretches(ranksOf(finding, run()))) {
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
  for (const [index, { kind, hosts = [], direction }] of shownFindings()) {
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
