// Puts the parts together: whatever changes the view calls `show`, which paints the matrix at once, and the row, the
// pair and the rest when they are ready.

const timings = { opened: 0, frames: [] };
let generation = 0;
let detailKey = "";

// The number of the run that everything around the pictures is about.
let introduced = -1;

// The part of the matrix that the address asks for, until it has been shown: { x, y, width }, null for none.
let wantedPart = null;

// Paints what the view says. `reveal`: the matrix moves to the picked cell, and nearer to it where it `isClose`.
async function show({ reveal = false, isClose = false } = {}) {
  const mine = ++generation;
  const started = performance.now();
  settle();
  if (introduced !== view.run) introduceRun();
  updateControls();
  writeAddress();
  const isNothing = !statistic() || !run().lengths.length;
  byId("nothing").hidden = !isNothing;
  byId("viewer").hidden = isNothing;
  if (isNothing) return isReady();
  const { units, layer } = await matrixLayer();
  if (mine !== generation) return;
  const isNewOrder = matrix.units !== units;
  Object.assign(matrix, { units, layer, scale: chosenScale(layer) });
  if (isNewOrder) matrix.outlines = null;
  matrix.grid.show(layer, colourTable(matrix.scale, chosenMap(), valueOf), wantedPart);
  wantedPart = null;
  if (reveal) revealPicked(isClose);
  showAround(layer);
  timings.frames.push(performance.now() - started);
  if (timings.frames.length > 1000) timings.frames.shift();
  timings.opened ||= performance.now();
  await showDetails(mine, units);
}

const isReady = () => (document.documentElement.dataset.ready = "yes");

// What depends on nothing but the run.
function introduceRun() {
  introduced = view.run;
  fillChoicesOfRun();
  showVerdict();
  showTopology();
}

// Everything once more in the colours of the page, and at once: printing does not wait.
function repaint() {
  if (!matrix.layer) return;
  matrix.grid.show(matrix.layer, colourTable(matrix.scale, chosenMap(), valueOf));
  showAround(matrix.layer);
  if (!line.layer) return;
  paintLine(line.layer);
  drawPair(onPage(byId("pair")), pair.curves);
}

function revealPicked(isClose) {
  const { grid } = matrix;
  const wanted = 14 * Math.max(1, grid.layer.width / 400);
  if (isClose && grid.size().x < 8) grid.zoom(Math.min(wanted, 14) / grid.size().x);
  grid.reveal(placeOf(view.source), placeOf(view.destination));
}

function meaningOfColours() {
  if (baseRun()) return `Red is ${isTime() ? "slower" : "higher"} than ${baseRun().name}, green is ${isTime() ? "faster" : "lower"}.`;
  return `${view.colours === "grey" ? "Dark" : "Bright"} is ${isTime() ? "slow" : "high"}.`;
}

// Everything that is said about the matrix.
function showAround(layer) {
  const summary = layer.summary();
  byId("matrix-title").textContent = matrixTitle();
  byId("matrix-note").textContent = `Rows are sources, columns destinations. ${meaningOfColours()}`;
  byId("legend").hidden = !summary.present;
  drawLegend(onPage(byId("legend")), matrix.scale);
  drawHistogram(onPage(byId("histogram")), layer, matrix.scale);
  const { present } = summary;
  const [low, high, middle] = [summary.low, summary.high, summary.middle].map((code) => textOfValue(valueOf(code)));
  const texts = [`${present.toLocaleString("en")} ${pairsInWords(present)} ${present === 1 ? "has" : "have"} a value`];
  if (summary.low) texts.push(`${low} to ${high}, median ${middle}`);
  byId("summary").textContent = texts.join(": ");
  byId("empty").hidden = !summary.isEmptySomewhere;
  byId("missing").hidden = !summary.lost;
  byId("missing-text").textContent = `${summary.lost} missing`;
  const share = formatShare(statistic().error);
  byId("exactness").textContent = `Values are kept on a grid: every ${view.statistic} is within ${share} of what was measured.`;
  showPicked();
}

function showPicked() {
  const [row, column] = [placeOf(view.source), placeOf(view.destination)];
  const code = matrix.layer.codes[row * matrix.units.length + column];
  byId("picked").textContent = describeCell(row, column, code, matrix.layer.summary()).join(", ");
}

// The parts that need other lengths than the shown one.
async function showDetails(mine, units) {
  const isCurrent = () => mine === generation;
  const before = matrix.outlines;
  const outlines = await outlinesOf(units, view.length);
  if (!isCurrent()) return;
  matrix.outlines = outlines;
  if (outlines !== before) matrix.grid.draw();
  const key = [view.run, view.statistic, view.source, view.destination, view.line, view.order, view.unit, view.compare].join();
  if (key !== detailKey) {
    line.layer = await lineLayer(isCurrent, paintLine);
    if (!line.layer) return;
    pair.curves = (await pairCurves(isCurrent, (curves) => drawPair(onPage(byId("pair")), curves))) ?? pair.curves;
    if (!isCurrent()) return;
    detailKey = key;
  }
  paintLine(line.layer);
  drawPair(onPage(byId("pair")), pair.curves);
  describePair();
  isReady();
}

function paintLine(layer) {
  line.scale = chosenScale(layer);
  line.grid.show(layer, colourTable(line.scale, chosenMap(), valueOf));
  const isRow = view.line === "row";
  const label = matrix.units[placeOf(isRow ? view.source : view.destination)].label;
  byId("line-title").textContent = `One ${isRow ? "row: from" : "column: to"} ${label} at all lengths`;
  byId("line-legend").textContent = `${textOfValue(line.scale.at(0))} to ${textOfValue(line.scale.at(1))}`;
}

function showTip(lines, event) {
  const tip = byId("tip");
  tip.replaceChildren(...lines.map((text) => element("div", { textContent: text })));
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  tip.style.left = `${Math.min(event.clientX + 14, innerWidth - width - 8)}px`;
  tip.style.top = `${event.clientY + 18 + height > innerHeight ? event.clientY - height - 12 : event.clientY + 18}px`;
}

const hideTip = () => (byId("tip").hidden = true);

function makeMatrix() {
  const label = (place) => matrix.units[place].brief;
  matrix.grid = new Grid(byId("matrix"), {
    // As wide as high, so that cells are squares; right and below there is room for the numbers of findings.
    margins: { left: 96, top: 86, right: 36, bottom: 46 },
    rowLabel: label,
    columnLabel: label,
    hover: (row, column, event) => {
      const code = matrix.layer.codes[row * matrix.units.length + column];
      showTip(describeCell(row, column, code, matrix.layer.summary()), event);
      if (code === LOST) run().states(view.length).then((states) => states && nameState(states, row, column, event));
    },
    leave: hideTip,
    pick: (row, column) => {
      view.source = matrix.units[row].ranks[0];
      view.destination = matrix.units[column].ranks[0];
      view.found = -1;
      show();
    },
    moved: () => {
      const { x, y, width } = matrix.grid.visible;
      view.zoom = matrix.grid.isWhole() ? "" : [x, y, width].map((part) => +part.toFixed(2)).join();
      writeAddress();
    },
    overlay: (context, grid) => {
      drawOutlines(context, grid);
      drawMarks(context, grid);
      drawPicked(context, grid);
      drawFound(context, grid);
    },
    beside: drawMarkNumbers,
  });
}

// Adds to the tip why a cell is missing.
function nameState(states, row, column, event) {
  if (baseRun() || byId("tip").hidden) return;
  const [from, to] = [matrix.units[row].ranks, matrix.units[column].ranks];
  const reason = description.states[states[from[0] * run().ranks + to[0]]] ?? "missing";
  const lines = describeCell(row, column, LOST, matrix.layer.summary());
  showTip([...lines.slice(0, -1), `missing: ${reason.replaceAll("_", " ")}`], event);
}

function makeLine() {
  line.grid = new Grid(byId("line"), {
    margins: { left: 62, top: 82, right: 34, bottom: 8 },
    rowLabel: (row) => formatBytes(run().lengths[row]),
    columnLabel: (column) => matrix.units[column].brief,
    hover: (length, place, event) => {
      const own = placeOf(view.line === "row" ? view.source : view.destination);
      const [row, column] = view.line === "row" ? [own, place] : [place, own];
      const code = line.layer?.codes[length * matrix.units.length + place] ?? LOST;
      // Of pairs of ranks the median at every length is known without the matrix.
      const summary = isFolded() ? { present: 0 } : { present: Infinity, middle: statistic().middles[length] };
      showTip(describeCell(row, column, code, summary, length), event);
    },
    leave: hideTip,
    pick: (length, place) => {
      view.length = length;
      view[view.line === "row" ? "destination" : "source"] = matrix.units[place].ranks[0];
      show();
    },
    overlay: drawPickedLength,
  });
}

// A click into the curve picks the length.
function listenToPair() {
  const canvas = byId("pair");
  canvas.addEventListener("click", (event) => {
    view.length = lengthUnder(event) ?? view.length;
    show();
  });
  canvas.addEventListener("pointermove", (event) => {
    const length = lengthUnder(event);
    if (length !== null) showTip(describeLength(length), event);
  });
  canvas.addEventListener("pointerleave", hideTip);
}

function listenToHistogram() {
  const canvas = byId("histogram");
  canvas.addEventListener("pointermove", (event) => {
    const lines = describeBar(event);
    if (lines) showTip(lines, event);
    else hideTip();
  });
  canvas.addEventListener("pointerleave", hideTip);
}

function showFacts() {
  const fact = ([name, text]) => [element("dt", { textContent: name }), element("dd", { textContent: text })];
  const rows = shownRuns.map((each) =>
    element("div", { className: "facts" },
      element("h3", { textContent: each.name }),
      element("dl", {}, ...each.facts.flatMap(fact))));
  byId("facts").replaceChildren(...rows);
}

// From the address: at the start, and when a person follows a link or goes back.
function open() {
  readAddress();
  const [x, y, width] = view.zoom.split(",").map(Number);
  const isPart = view.zoom && [x, y, width].every(Number.isFinite);
  wantedPart = isPart ? { x, y, width } : { x: 0, y: 0, width: Infinity };
  return show();
}

// Paper is white, whatever the screen is.
function listenToPrinting() {
  const root = document.documentElement;
  let before;
  window.addEventListener("beforeprint", () => {
    before = root.dataset.theme;
    root.dataset.theme = "light";
    repaint();
  });
  window.addEventListener("afterprint", () => {
    if (before) root.dataset.theme = before;
    else delete root.dataset.theme;
    repaint();
  });
}

function start() {
  document.title = description.title;
  byId("title").textContent = description.title;
  byId("program").textContent = description.program;
  if (!("DecompressionStream" in window)) {
    byId("nothing").textContent = "This browser is too old to unpack the data: Firefox 113, Chrome 103 or Safari 16.4 and newer can.";
    byId("nothing").hidden = false;
    byId("viewer").hidden = true;
    return isReady();
  }
  fillChoices();
  makeMatrix();
  makeLine();
  listenToControls();
  showFacts();
  listenToPair();
  listenToHistogram();
  listenToPrinting();
  window.addEventListener("hashchange", open);
  new ResizeObserver(() => matrix.layer && showAround(matrix.layer)).observe(byId("histogram"));
  new ResizeObserver(() => pair.curves && matrix.layer && drawPair(onPage(byId("pair")), pair.curves)).observe(byId("pair"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  open();
}

// For scripts that drive the page: what is shown, the value of a pair in it (NaN where there is none), how long frames
// took, and a way to show something else.
window.networkReport = {
  view,
  timings,
  show: (changes = {}) => show(Object.assign(view, changes) && {}),
  value: (source, destination) => {
    const code = matrix.layer.codes[placeOf(source) * matrix.units.length + placeOf(destination)];
    return code === EMPTY || code === LOST ? NaN : valueOf(code);
  },
  visible: () => ({ ...matrix.grid.visible }),
  placeOfCell: (row, column) => matrix.grid.at(column + 0.5, row + 0.5),
  axisLabels: () => matrix.units.map(({ brief }) => brief),
};

start();
