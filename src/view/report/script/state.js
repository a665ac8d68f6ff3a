// What is shown: one object, which the address of the page keeps, so that a link restores the view.

const DEFAULTS = {
  run: 0, // number in shownRuns
  statistic: "", // the median where there is one
  length: -1, // number of the message length; -1 is the longest
  source: 0,
  destination: 1,
  found: -1, // rank that a search led to: its row and its column are framed
  line: "row", // or "column"
  range: "matrix", // or "all", or "window": which values the colours span
  from: 0, // the window's first length, by number
  to: -1, // and its last
  white: 0, // percent
  black: 100,
  scale: "log", // or "linear"
  colours: "perceptual", // or "grey"
  order: "rank", // or "host", or "group"
  unit: "rank", // or "host": ranks folded into hosts
  compare: Number(runs.some(({ base }) => base !== null)), // 1: the difference to the run of --compare
  regions: 1,
  marks: 1,
  zoom: "", // left,top,width of the visible part of the matrix, in cells
};

const view = { ...DEFAULTS };

const run = () => shownRuns[view.run];
const statistic = () => run().statistic(view.statistic);
const baseRun = () => (view.compare && run().base !== null ? runs[run().base] : null);

const clamp = (value, low, high) => Math.min(high, Math.max(low, value));

// Makes every part of the view one that the run has.
function settle() {
  view.run = clamp(view.run, 0, shownRuns.length - 1);
  const { statistics, lengths, ranks, base, order, groups } = run();
  const preferred = statistics.find(({ name }) => name === "median") ?? statistics[0];
  if (!statistic()) view.statistic = preferred?.name ?? "";
  const last = lengths.length - 1;
  for (const name of ["length", "to"]) if (view[name] < 0 || view[name] > last) view[name] = last;
  view.from = clamp(view.from, 0, Math.max(view.to, 0));
  view.source = clamp(view.source, 0, ranks - 1);
  view.destination = clamp(view.destination, 0, ranks - 1);
  view.found = clamp(view.found, -1, ranks - 1);
  if (base === null) view.compare = 0;
  if (view.order === "group" && !order && !groups.length) view.order = "rank";
  for (const [name, allowed] of Object.entries(CHOICES)) {
    if (!allowed.includes(view[name])) view[name] = DEFAULTS[name];
  }
}

const CHOICES = {
  line: ["row", "column"],
  range: ["matrix", "all", "window"],
  scale: ["log", "linear"],
  colours: ["perceptual", "grey"],
  order: ["rank", "host", "group"],
  unit: ["rank", "host"],
};

// The view from the part of the address behind `#`. Whatever makes no sense is left as it was.
function readAddress() {
  Object.assign(view, DEFAULTS);
  for (const [name, text] of new URLSearchParams(location.hash.slice(1))) {
    if (!(name in DEFAULTS)) continue;
    const number = Number(text);
    if (typeof DEFAULTS[name] === "string") view[name] = text;
    else if (text !== "" && Number.isInteger(number)) view[name] = number;
  }
  view.white = clamp(view.white, 0, 99);
  view.black = clamp(view.black, view.white + 1, 100);
  settle();
}

let addressTimer = 0;

// Browsers limit how often an address may change: it follows when nothing has changed for a moment.
function writeAddress() {
  clearTimeout(addressTimer);
  addressTimer = setTimeout(() => {
    const changed = Object.entries(view).filter(([name, value]) => value !== DEFAULTS[name]);
    const wanted = `#${new URLSearchParams(changed)}`;
    if (wanted !== (location.hash || "#")) history.replaceState(null, "", wanted);
  }, 250);
}
