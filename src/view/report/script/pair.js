// One pair over all lengths as a curve.

const pair = { curves: {}, plot: null };

// The values of the picked pair at every length, by statistic; `before` is the shown statistic in the run that this one
// is compared with. Units of several ranks: the first rank of each.
async function pairCurves(isCurrent, paint) {
  const chosen = run();
  const names = new Set(["min", "median", "max", "deviation", view.statistic]);
  if (chosen.statistic("min") && chosen.statistic("max") && view.statistic !== "deviation") names.delete("deviation");
  const wanted = chosen.statistics.filter(({ name }) => names.has(name)).map((kept) => [kept.name, kept]);
  const before = baseRun()?.statistic(view.statistic);
  if (before) wanted.push(["before", before]);
  const curves = {};
  let painted = performance.now();
  for (const [name, kept] of wanted) {
    const curve = (curves[name] = new Float64Array(chosen.lengths.length).fill(NaN));
    const cell = cellIn(kept.run, chosen);
    for (let length = 0; length < chosen.lengths.length && cell >= 0; length++) {
      const there = kept.run.lengths.indexOf(chosen.lengths[length]);
      if (there < 0) continue;
      const codes = await kept.codes(there);
      if (!isCurrent()) return null;
      curve[length] = kept.value(codes[cell]);
      if (performance.now() - painted > 200) {
        paint(curves);
        painted = performance.now();
      }
    }
  }
  return curves;
}

// The picked cell in a run, which may be another one than the shown; -1 where it has none.
function cellIn(of, shown) {
  const [i, j] = [view.source, view.destination].map((rank) => (of === shown ? rank : partners(shown, of)[rank]));
  return i < 0 || j < 0 ? -1 : i * of.ranks + j;
}

// Lower and upper end of the band, in words too; null where the line is no time of a message.
function bandOf(curves) {
  if (!isTime()) return null;
  if (curves.min && curves.max) return { low: curves.min, high: curves.max, name: "min to max" };
  if (!curves.median || !curves.deviation) return null;
  const shifted = (sign) => curves.median.map((value, k) => Math.max(value + sign * curves.deviation[k], value / 10));
  return { low: shifted(-1), high: shifted(1), name: "median \u00b1 deviation" };
}

// Every how many-th length is named.
const ROUND_STEPS = [1, 2, 3, 4, 5, 10, 20, 25, 50, 100, 200, 500];

const PAIR_MARGINS = { left: 62, right: 34, top: 12, bottom: 34 };

function drawPair(surface, curves) {
  const context = prepared(surface);
  const { lengths } = run();
  const band = bandOf(curves);
  const main = curves[view.statistic] ?? curves.median;
  const drawn = [main, curves.before, band?.low, band?.high].filter(Boolean).flatMap((curve) => [...curve]);
  const present = drawn.filter((value) => value > 0);
  const { left, right, top, bottom } = PAIR_MARGINS;
  const plot = { left, top, width: surface.width - left - right, height: surface.height - top - bottom };
  pair.plot = plot;
  if (!present.length) {
    context.fillStyle = themeText("--faint");
    context.fillText(drawn.length ? "no value at any length" : "\u2026", left, top + plot.height / 2);
    return;
  }
  const scale = new Scale(Math.min(...present), Math.max(...present), { logarithmic: view.scale === "log", white: 0, black: 100 });
  const x = (k) => plot.left + (lengths.length < 2 ? plot.width / 2 : (k / (lengths.length - 1)) * plot.width);
  const y = (value) => plot.top + plot.height * (1 - scale.place(value));
  drawPairAxes(context, plot, scale, x);
  if (band) fillBand(context, band, x, y);
  if (curves.before) {
    context.strokeStyle = themeText("--faint");
    context.lineWidth = 1.5;
    context.setLineDash([5, 4]);
    context.stroke(pathOf(curves.before, x, y));
    context.setLineDash([]);
  }
  context.strokeStyle = themeText("--accent");
  context.fillStyle = themeText("--accent");
  context.lineWidth = 2;
  context.stroke(pathOf(main, x, y));
  for (let k = 0; k < main.length; k++) {
    const isPicked = k === view.length;
    if (Number.isNaN(main[k]) || (main.length > 60 && !isPicked)) continue;
    const half = isPicked ? 4 : 2;
    context.fillRect(x(k) - half, y(main[k]) - half, 2 * half, 2 * half);
  }
}

function drawPairAxes(context, plot, scale, x) {
  const { lengths } = run();
  context.strokeStyle = themeText("--line");
  context.fillStyle = themeText("--faint");
  context.lineWidth = 1;
  context.textAlign = "right";
  for (const value of roundValues(scale, 8)) {
    const at = Math.round(plot.top + plot.height * (1 - scale.place(value))) + 0.5;
    context.strokeRect(plot.left, at, plot.width, 0);
    context.fillText(brieflyRound(formatValue(statistic(), value)), plot.left - 6, at);
  }
  context.strokeRect(plot.left + 0.5, plot.top, 0, plot.height);
  context.strokeRect(plot.left, plot.top + plot.height + 0.5, plot.width, 0);
  context.textAlign = "center";
  const most = Math.max(2, Math.floor(plot.width / 46));
  const step = ROUND_STEPS.find((step) => step * most >= lengths.length) ?? Math.ceil(lengths.length / most);
  for (let k = 0; k < lengths.length; k += step) context.fillText(formatBytes(lengths[k]), x(k), plot.top + plot.height + 11);
  context.fillText("message length, bytes", plot.left + plot.width / 2, plot.top + plot.height + 26);
  context.strokeStyle = themeText("--picked");
  context.strokeRect(x(view.length), plot.top, 0, plot.height);
}

// A path with gaps where values are missing.
function pathOf(curve, x, y) {
  const path = new Path2D();
  let isDown = false;
  curve.forEach((value, k) => {
    if (Number.isNaN(value)) isDown = false;
    else if (isDown) path.lineTo(x(k), y(value));
    else {
      path.moveTo(x(k), y(value));
      isDown = true;
    }
  });
  return path;
}

function fillBand(context, { low, high }, x, y) {
  context.fillStyle = themeText("--band");
  for (let k = 0; k + 1 < low.length; k++) {
    const corners = [low[k], low[k + 1], high[k + 1], high[k]];
    if (corners.some(Number.isNaN)) continue;
    context.beginPath();
    context.moveTo(x(k), y(corners[0]));
    context.lineTo(x(k + 1), y(corners[1]));
    context.lineTo(x(k + 1), y(corners[2]));
    context.lineTo(x(k), y(corners[3]));
    context.fill();
  }
}

const pairTitle = () => `${run().labels[view.source]} \u2192 ${run().labels[view.destination]}`;

function describePair() {
  const { lengths } = run();
  const band = bandOf(pair.curves);
  const texts = [
    `Line: ${view.statistic}.`,
    band && `Band: ${band.name}.`,
    pair.curves.before && `Dashed: ${view.statistic} of ${baseRun().name}.`,
  ];
  byId("pair-title").textContent = pairTitle();
  byId("pair-text").textContent = texts.filter(Boolean).join(" ");
  const curve = pair.curves[view.statistic] ?? [];
  const said = lengths.map((length, k) => `${formatBytes(length)} bytes ${formatValue(statistic(), curve[k] ?? NaN)}`);
  byId("pair").setAttribute("aria-label", `${view.statistic} ${pairTitle()} by message length: ${said.join("; ")}`);
}

// The number of the length under a pointer, or null.
function lengthUnder(event) {
  const { lengths } = run();
  if (!pair.plot || !lengths.length) return null;
  const share = (event.offsetX - pair.plot.left) / pair.plot.width;
  return clamp(Math.round(share * (lengths.length - 1)), 0, lengths.length - 1);
}

// What all curves say at a length, as lines of text.
function describeLength(length) {
  const named = ([name, curve]) => {
    const value = formatValue(run().statistic(name) ?? statistic(), curve[length]);
    return `${name === "before" ? baseRun().name : name} ${value}`;
  };
  return [pairTitle(), `${formatBytes(run().lengths[length])} bytes`, ...Object.entries(pair.curves).map(named)];
}
