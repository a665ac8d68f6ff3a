// What is shown as files: pictures as PNG, their values as CSV.

function download(name, blob) {
  const link = element("a", { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

// What a file shows besides run, mode and statistic.
const FILE_WORDS = {
  matrix: () => [run().lengths[view.length]],
  line: () => [view.line, run().labels[view.line === "row" ? view.source : view.destination]],
  pair: () => [run().labels[view.source], run().labels[view.destination]],
  histogram: () => [run().lengths[view.length], "histogram"],
};

const fileName = (part, ending) => {
  const words = [run().name, run().mode, view.statistic, ...FILE_WORDS[part](), baseRun() ? "difference" : ""];
  return `${words.filter((word) => word !== "").join("_").replace(/[^\w.-]+/g, "_")}.${ending}`;
};

// What the matrix shows, in one line.
function matrixTitle() {
  const length = `${formatBytes(run().lengths[view.length])} bytes`;
  const other = baseRun() ? `, compared with ${baseRun().name}` : "";
  return `${view.statistic} of ${run().mode} at ${length}${other}`;
}

// Canvases in twice the pixels of the screen, so that print is sharp, below each other and under a title.
// `parts`: { surface, left }, with what has been drawn, and where it begins.
function composed(title, note, parts) {
  const [ratio, head] = [2, 44];
  const width = Math.max(...parts.map(({ surface, left }) => left + surface.width));
  const height = parts.reduce((sum, { surface }) => sum + surface.height, head);
  const picture = element("canvas", { width: width * ratio, height: height * ratio });
  const pen = picture.getContext("2d");
  pen.fillStyle = themeText("--ground");
  pen.fillRect(0, 0, picture.width, picture.height);
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.fillStyle = themeText("--ink");
  pen.textBaseline = "middle";
  pen.font = `bold 15px ${FONT}`;
  pen.fillText(title, 12, 16);
  pen.font = `${LABEL_SIZE}px ${FONT}`;
  pen.fillText(note, 12, 34);
  let top = head;
  for (const { surface, left } of parts) {
    pen.drawImage(surface.canvas, left, top, surface.width, surface.height);
    top += surface.height;
  }
  return picture;
}

// A grid and the legend of its colours.
function gridParts(grid, scale) {
  const surface = toKeep(grid.canvas);
  Object.assign(surface.canvas, { width: surface.width * surface.ratio, height: surface.height * surface.ratio });
  grid.drawOn(surface.canvas.getContext("2d"), surface.ratio);
  const { left, width } = grid.plot();
  const legend = toKeep({ clientWidth: width, clientHeight: 40 });
  drawLegend(legend, scale);
  return [{ surface, left: 0 }, { surface: legend, left }];
}

const chartParts = (canvas, draw) => {
  const surface = toKeep(canvas);
  draw(surface);
  return [{ surface, left: 0 }];
};

const pictures = {
  matrix: () => {
    const note = `${run().name}; row = source, column = destination`;
    return composed(matrixTitle(), note, gridParts(matrix.grid, matrix.scale));
  },
  line: () => {
    const note = `${run().name}: ${view.statistic} of ${run().mode}; message length in bytes downwards`;
    return composed(byId("line-title").textContent, note, gridParts(line.grid, line.scale));
  },
  pair: () => {
    const note = `${run().name}. ${byId("pair-text").textContent}`;
    const parts = chartParts(byId("pair"), (surface) => drawPair(surface, pair.curves));
    return composed(`${run().mode}: ${pairTitle()}`, note, parts);
  },
  histogram: () => {
    const note = `${run().name}: ${byId("summary").textContent}`;
    const parts = chartParts(byId("histogram"), (surface) => drawHistogram(surface, matrix.layer, matrix.scale));
    return composed(`${matrixTitle()}: number of pairs`, note, parts);
  },
};

// Spreadsheets would run a name such as =x as a formula: an apostrophe before it says that it is text, as in `convert`.
const harmless = (text) => (/^['=+\-@\uff1d\uff0b\uff0d\uff20]/.test(text) ? `'${text}` : text);
const quoted = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
const unitSuffix = (name) => (run().statistic(name)?.unit === "s" ? "_seconds" : "");
const columnName = () => (baseRun() ? "ratio" : `${view.statistic}${unitSuffix(view.statistic)}`);

// One line per cell, in pieces: the table of a large matrix is longer than a text may be.
const cellsTable = (pieces) => [`length,source,destination,source_host,destination_host,${columnName()}\n`, ...pieces];

// Empty where the value is missing, and no line at all where there is no cell.
function cellLine(length, from, to, code) {
  if (code === EMPTY) return "";
  const value = code === LOST ? "" : valueOf(code).toPrecision(6);
  return `${[length, from.ranks.join(" "), to.ranks.join(" "), quoted(harmless(from.label)), quoted(harmless(to.label)), value].join(",")}\n`;
}

const tables = {
  matrix: () => {
    const { units, layer } = matrix;
    const length = run().lengths[view.length];
    const code = (row, column) => layer.codes[row * units.length + column];
    const lines = (from, row) => units.map((to, column) => cellLine(length, from, to, code(row, column)));
    return cellsTable(units.map((from, row) => lines(from, row).join("")));
  },
  line: () => {
    const { units } = matrix;
    const own = units[placeOf(view.line === "row" ? view.source : view.destination)];
    return cellsTable(run().lengths.map((length, number) => units.map((unit, place) => {
      const [from, to] = view.line === "row" ? [own, unit] : [unit, own];
      return cellLine(length, from, to, line.layer.codes[number * units.length + place]);
    }).join("")));
  },
  pair: () => {
    const names = Object.keys(pair.curves);
    const column = (name) => (name === "before" ? `${view.statistic}_before${unitSuffix(view.statistic)}` : `${name}${unitSuffix(name)}`);
    const value = (name, k) => (Number.isNaN(pair.curves[name][k]) ? "" : pair.curves[name][k].toPrecision(6));
    const lines = run().lengths.map((length, k) => `${[length, ...names.map((name) => value(name, k))].join(",")}\n`);
    return [`${["length", ...names.map(column)].join(",")}\n`, ...lines];
  },
  histogram: () => {
    const { bins, scale } = histogram;
    const edge = (bin) => scale.at(bin / bins.length).toPrecision(6);
    return [`from_${columnName()},to_${columnName()},pairs\n`, ...bins.map((count, bin) => `${edge(bin)},${edge(bin + 1)},${count}\n`)];
  },
};

const savePicture = (part) => pictures[part]().toBlob((blob) => download(fileName(part, "png"), blob), "image/png");
const saveTable = (part) => download(fileName(part, "csv"), new Blob(tables[part](), { type: "text/csv" }));
