// One pair over all lengths as a curve; how the values of the matrix are distributed; the legend of the colours.

// A canvas that is ready to be drawn on, in CSS pixels.
function prepared(canvas) {
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  Object.assign(canvas, { width: Math.round(width * ratio), height: Math.round(height * ratio) });
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = themeText("--ground");
  context.fillRect(0, 0, width, height);
  context.font = `${LABEL_SIZE}px ${FONT}`;
  context.textBaseline = "middle";
  return { context, width, height };
}

const pair = { curves: {}, names: [] };

// The values of the picked pair at every length, by statistic. Units of several ranks: the first rank of each.
async function pairCurves(isCurrent, paint) {
  const chosen = run();
  const [source, destination] = [view.source, view.destination];
  const names = new Set(["min", "median", "max", "deviation", view.statistic]);
  if (chosen.statistic("min") && chosen.statistic("max") && view.statistic !== "deviation") names.delete("deviation");
  const curves = {};
  let painted = performance.now();
  for (const kept of chosen.statistics.filter(({ name }) => names.has(name))) {
    const curve = (curves[kept.name] = new Float64Array(chosen.lengths.length).fill(NaN));
    for (let length = 0; length < chosen.lengths.length; length++) {
      const codes = await kept.codes(length);
      if (!isCurrent()) return null;
      curve[length] = kept.value(codes[source * chosen.ranks + destination]);
      if (performance.now() - painted > 200) {
        paint(curves);
        painted = performance.now();
      }
    }
  }
  return curves;
}

// Lower and upper end of the band, in words too; null where the line is no time of a message.
function bandOf(curves) {
  if (["deviation", "measurements_amount"].includes(view.statistic)) return null;
  if (curves.min && curves.max) return { low: curves.min, high: curves.max, name: "min to max" };
  if (!curves.median || !curves.deviation) return null;
  const shifted = (sign) => curves.median.map((value, k) => Math.max(value + sign * curves.deviation[k], value / 10));
  return { low: shifted(-1), high: shifted(1), name: "median \u00b1 deviation" };
}

const PAIR_MARGINS = { left: 62, right: 34, top: 12, bottom: 34 };

function drawPair(canvas, curves) {
  const { context, width, height } = prepared(canvas);
  const { lengths } = run();
  const band = bandOf(curves);
  const main = curves[view.statistic] ?? curves.median;
  const drawn = [main, band?.low, band?.high].filter(Boolean).flatMap((curve) => [...curve]);
  const present = drawn.filter((value) => value > 0);
  const { left, right, top, bottom } = PAIR_MARGINS;
  const plot = { left, top, width: width - left - right, height: height - top - bottom };
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
  for (const place of [0, 0.25, 0.5, 0.75, 1]) {
    const at = Math.round(plot.top + plot.height * (1 - place)) + 0.5;
    context.strokeRect(plot.left, at, plot.width, 0);
    context.fillText(formatValue(statistic(), scale.at(place)), plot.left - 6, at);
  }
  context.textAlign = "center";
  const most = Math.max(2, Math.floor(plot.width / 46));
  const step = Math.max(1, Math.ceil(lengths.length / most));
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

const MOST_BINS = 72;

// Numbers of cells in bins of the scale's own kind, from the smallest to the largest value.
function drawHistogram(canvas, layer, scale) {
  const { context, width, height } = prepared(canvas);
  const { low, high, present } = layer.summary();
  context.fillStyle = themeText("--faint");
  if (!present || !low) {
    context.fillText(present ? "all values are zero" : "no value", 12, height / 2);
    return;
  }
  const own = new Scale(valueOf(low), valueOf(high), { logarithmic: scale.isLog, white: 0, black: 100 });
  const counts = layer.counts();
  // Bins narrower than the steps of the codes would leave gaps that mean nothing.
  const bins = new Float64Array(clamp(high - low + 1, 1, MOST_BINS));
  for (let code = low; code <= high; code++) {
    if (counts[code]) bins[Math.min(bins.length - 1, Math.floor(own.place(valueOf(code)) * bins.length))] += counts[code];
  }
  const plot = { left: 12, top: 8, width: width - 24, height: height - 30 };
  const highest = Math.log1p(Math.max(...bins));
  for (let bin = 0; bin < bins.length; bin++) {
    if (!bins[bin]) continue;
    const tall = Math.max(1.5, (plot.height * Math.log1p(bins[bin])) / highest);
    context.fillStyle = `rgb(${colourMaps[chosenMap()](scale.place(own.at((bin + 0.5) / bins.length))).join()})`;
    context.strokeStyle = themeText("--line");
    const box = [plot.left + (bin * plot.width) / bins.length, plot.top + plot.height - tall, plot.width / bins.length - 1, tall];
    context.fillRect(...box);
    context.strokeRect(...box);
  }
  context.fillStyle = themeText("--faint");
  for (const [place, align] of [[0, "left"], [0.5, "center"], [1, "right"]]) {
    context.textAlign = align;
    context.fillText(textOfValue(own.at(place)), plot.left + place * plot.width, height - 10);
  }
}

const textOfValue = (value) => (baseRun() ? `\u00d7 ${value.toPrecision(3)}` : formatValue(statistic(), value));

// The colours and what they stand for.
function drawLegend(canvas, scale, context = null) {
  const made = context ? { context, width: canvas.clientWidth, height: canvas.clientHeight } : prepared(canvas);
  const { context: pen, width } = made;
  const [left, wide, tall] = [2, width - 4, 14];
  for (let k = 0; k < wide; k++) {
    pen.fillStyle = `rgb(${colourMaps[chosenMap()](k / (wide - 1)).join()})`;
    pen.fillRect(left + k, 2, 1.5, tall);
  }
  pen.strokeStyle = themeText("--line");
  pen.strokeRect(left - 0.5, 1.5, wide + 1, tall + 1);
  pen.fillStyle = themeText("--ink");
  pen.font = `${LABEL_SIZE}px ${FONT}`;
  const most = clamp(Math.floor(width / 80), 2, 7);
  for (let k = 0; k < most; k++) {
    const place = k / (most - 1);
    pen.textAlign = k === 0 ? "left" : k === most - 1 ? "right" : "center";
    pen.fillText(textOfValue(scale.at(place)), left + place * wide, tall + 14);
  }
}
