// How the values of the matrix are distributed.

const histogram = { bins: [], scale: null, plot: null };

const MOST_BINS = 72;

// Numbers of cells in bins of the scale's own kind, from the smallest to the largest value; empty where all are zero.
function binned(layer, scale) {
  const { low, high } = layer.summary();
  if (!low) return { bins: [], scale };
  const own = new Scale(valueOf(low), valueOf(high), { logarithmic: scale.isLog, white: 0, black: 100 });
  const counts = layer.counts();
  // Bins narrower than the steps of the codes would leave gaps that mean nothing.
  const bins = new Array(clamp(high - low + 1, 1, MOST_BINS)).fill(0);
  for (let code = low; code <= high; code++) {
    if (counts[code]) bins[Math.min(bins.length - 1, Math.floor(own.place(valueOf(code)) * bins.length))] += counts[code];
  }
  return { bins, scale: own };
}

// `scale`: that of the matrix, whose colours the bars have.
function drawHistogram(surface, layer, scale) {
  const context = prepared(surface);
  const { bins, scale: own } = Object.assign(histogram, binned(layer, scale));
  const plot = { left: 62, top: 8, width: surface.width - 96, height: surface.height - 30 };
  histogram.plot = plot;
  context.fillStyle = themeText("--faint");
  if (!bins.length) {
    context.fillText(layer.summary().present ? "all values are zero" : "no value", plot.left, surface.height / 2);
    return;
  }
  const highest = Math.log1p(Math.max(...bins));
  // Logarithmic: a few slow pairs among a million stay visible.
  const tall = (count) => (plot.height * Math.log1p(count)) / highest;
  drawCounts(context, plot, Math.max(...bins), tall);
  bins.forEach((count, bin) => {
    if (!count) return;
    context.fillStyle = `rgb(${colourMaps[chosenMap()](scale.place(own.at((bin + 0.5) / bins.length))).join()})`;
    context.strokeStyle = themeText("--line");
    const [wide, high] = [plot.width / bins.length, tall(count)];
    const box = [plot.left + bin * wide, plot.top + plot.height - high, wide - 1, high];
    context.fillRect(...box);
    context.strokeRect(...box);
  });
  context.fillStyle = themeText("--faint");
  context.textAlign = "center";
  for (const place of [0, 0.5, 1]) context.fillText(textOfValue(own.at(place)), plot.left + place * plot.width, surface.height - 10);
}

// The axis of numbers of pairs.
function drawCounts(context, plot, most, tall) {
  context.strokeStyle = themeText("--line");
  context.fillStyle = themeText("--faint");
  context.textAlign = "right";
  let last = Infinity;
  for (let count = 1; count <= most; count *= 10) {
    const at = Math.round(plot.top + plot.height - tall(count)) + 0.5;
    if (last - at < LABEL_SIZE) continue;
    context.strokeRect(plot.left, at, plot.width, 0);
    context.fillText(count.toLocaleString("en"), plot.left - 6, at);
    last = at;
  }
  context.strokeRect(plot.left, plot.top + plot.height + 0.5, plot.width, 0);
}

// What the bar under a pointer stands for, as lines of text; null where there is none.
function describeBar(event) {
  const { bins, scale, plot } = histogram;
  if (!bins.length || !plot) return null;
  const bin = Math.floor(((event.offsetX - plot.left) / plot.width) * bins.length);
  if (!bins[bin]) return null;
  const [from, to] = [bin, bin + 1].map((edge) => textOfValue(scale.at(edge / bins.length)));
  return [`${from} to ${to}`, `${bins[bin].toLocaleString("en")} ${pairsInWords(bins[bin])}`];
}
