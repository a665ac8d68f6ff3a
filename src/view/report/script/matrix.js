// The matrix at one length: sources downwards, destinations to the right.

const matrix = {
  grid: null,
  units: [],
  layer: null,
  scale: null,
  outlines: null, // sets of the archive, arranged as the picture
};

// The statistic's values, or ratios to another run's.
const valueOf = (code) => (baseRun() ? valueOfDifference(code) : statistic().value(code));

// Whether the shown statistic is the time of a message.
const isTime = () => !["deviation", "measurements_amount"].includes(view.statistic);

// The unit of the picture that a rank is in.
const placeOf = (rank) => matrix.units.findIndex((unit) => unit.ranks.includes(rank));

// A short-lived memory of layers: a slider that goes back and forth meets the same ones again.
const layers = new Map();

async function matrixLayer(length = view.length) {
  const [kept, other] = [statistic(), baseRun()];
  const key = [view.run, view.statistic, length, view.order, view.unit, view.compare].join();
  if (!layers.has(key)) {
    const units = unitsOf(view, run());
    const codes = await wantedCodes(kept, length, other);
    layers.set(key, { units, layer: arranged(codes, run().ranks, units) });
    const most = Math.max(3, Math.floor(CACHE_BYTES / 4 / (3 * run().cells)));
    for (const oldest of layers.keys()) {
      if (layers.size <= most) break;
      layers.delete(oldest);
    }
  }
  return layers.get(key);
}

// Whether a cell of the picture stands for several pairs of ranks.
const isFolded = () => view.unit === "host" && run().hosts.length < run().ranks;
const pairsInWords = (count) => `${count === 1 ? "pair" : "pairs"}${isFolded() ? " of hosts" : ""}`;

// The scale that the view asks for, of a matrix or a line. "This matrix" means the line itself there: what fits one
// length hides what happens at the others.
function chosenScale(layer) {
  const options = { logarithmic: view.scale === "log", white: view.white, black: view.black };
  const { low, high } = layer.summary();
  if (baseRun()) {
    const far = Math.max(Math.abs(low - SAME), Math.abs(high - SAME)) * DIFFERENCE_STEP;
    return differenceScale(low ? far : 0, options);
  }
  const kept = statistic();
  if (view.range === "matrix") return new Scale(kept.value(low || ZERO), kept.value(high || ZERO), options);
  const [first, last] = view.range === "all" ? [0, kept.spans.length - 1] : [view.from, view.to];
  const spans = kept.spans.slice(first, last + 1).filter((span) => span !== null && span[0] >= FIRST);
  if (!spans.length) return new Scale(0, 0, options);
  const ends = [Math.min(...spans.map((span) => span[0])), Math.max(...spans.map((span) => span[1]))];
  return new Scale(...ends.map((code) => kept.value(code)), options);
}

const chosenMap = () => (baseRun() ? "difference" : view.colours);

async function outlinesOf(units, length) {
  if (!view.regions || !run().parts.length || view.unit === "host") return null;
  const sets = await run().sets(length);
  return sets && arranged(sets, run().ranks, units).codes;
}

// Lines between cells of different sets, as far as cells are large enough for lines.
function drawOutlines(context, grid) {
  const { outlines, units } = matrix;
  const size = grid.size();
  if (!outlines || size.x < 3) return;
  const count = units.length;
  const { x, y, width, height } = grid.visible;
  const [x0, y0] = [Math.floor(x), Math.floor(y)];
  const [x1, y1] = [Math.min(count, Math.ceil(x + width)), Math.min(count, Math.ceil(y + height))];
  context.beginPath();
  for (let row = y0; row < y1; row++) {
    for (let column = x0; column < x1; column++) {
      const cell = row * count + column;
      if (row === column) continue;
      const { x: left, y: top } = grid.at(column, row);
      if (column + 1 < count && column + 1 !== row && outlines[cell] !== outlines[cell + 1]) {
        context.moveTo(left + size.x, top);
        context.lineTo(left + size.x, top + size.y);
      }
      if (row + 1 < count && row + 1 !== column && outlines[cell] !== outlines[cell + count]) {
        context.moveTo(left, top + size.y);
        context.lineTo(left + size.x, top + size.y);
      }
    }
  }
  context.strokeStyle = themeText("--outline");
  context.lineWidth = 1;
  context.stroke();
}

// The picked row, column and cell.
function drawPicked(context, grid) {
  const [row, column] = [placeOf(view.source), placeOf(view.destination)];
  const [size, at, plot] = [grid.size(), grid.at(column, row), grid.plot()];
  context.strokeStyle = themeText("--picked");
  context.lineWidth = 1;
  const isRow = view.line === "row";
  if (isRow) context.strokeRect(plot.left - 2, at.y - 0.5, plot.width + 4, Math.max(size.y, 2) + 1);
  else context.strokeRect(at.x - 0.5, plot.top - 2, Math.max(size.x, 2) + 1, plot.height + 4);
  context.lineWidth = 2.5;
  const grow = Math.max(0, 7 - size.x) / 2;
  context.strokeRect(at.x - grow - 1, at.y - grow - 1, size.x + 2 * grow + 2, size.y + 2 * grow + 2);
}

// How far from cells of so many pixels a frame is drawn: around a row of few pixels it would hide what it shows.
const gapAround = (pixels) => (pixels < 6 ? 4 : 1);

// What a search led to: its row and its column.
function drawFound(context, grid) {
  if (view.found < 0) return;
  const place = placeOf(view.found);
  const [size, at, plot] = [grid.size(), grid.at(place, place), grid.plot()];
  const gap = gapAround(size.x);
  context.strokeStyle = themeText("--picked");
  context.lineWidth = 2;
  context.strokeRect(plot.left - 5, at.y - gap, plot.width + 10, size.y + 2 * gap);
  context.strokeRect(at.x - gap, plot.top - 5, size.x + 2 * gap, plot.height + 10);
}

// What a cell of the picture says, as lines of text.
function describeCell(row, column, code, summary, length = view.length) {
  const [from, to] = [matrix.units[row], matrix.units[column]];
  const count = (unit) => (unit.ranks.length > 1 ? `${unit.ranks.length} ranks` : `rank ${unit.ranks[0]}`);
  const named = (unit) => `${unit.label} (${count(unit)})`;
  const lines = [`${named(from)} \u2192 ${named(to)}`, `${formatBytes(run().lengths[length])} bytes, ${view.statistic}`];
  if (code === EMPTY) return [...lines, row === column ? "the diagonal" : "not scheduled"];
  if (code === LOST) return [...lines, baseRun() ? "missing in one of the runs" : "missing"];
  if (baseRun()) return [...lines, formatRatio(valueOf(code), `that of ${baseRun().name}`)];
  const value = valueOf(code);
  lines.push(`${isFolded() ? "slowest: " : ""}${formatValue(statistic(), value)}`);
  if (summary.present > 1) {
    const middle = valueOf(summary.middle);
    lines.push(formatRatio(value / middle, `the median ${formatValue(statistic(), middle)}`));
  }
  return lines;
}
