// What charts share: a canvas to draw on, round values for axes, and the legend of the colours.

// Where a chart goes: the canvas of the page itself, or a fresh one of its size, in twice the pixels, to keep.
const sizeOf = ({ clientWidth: width, clientHeight: height }) => ({ width, height });
const onPage = (canvas) => ({ canvas, ...sizeOf(canvas), ratio: window.devicePixelRatio || 1 });
const toKeep = (canvas) => ({ canvas: element("canvas"), ...sizeOf(canvas), ratio: 2 });

// A cleared canvas, in CSS pixels.
function prepared({ canvas, width, height, ratio }) {
  Object.assign(canvas, { width: Math.round(width * ratio), height: Math.round(height * ratio) });
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = themeText("--ground");
  context.fillRect(0, 0, width, height);
  context.font = `${LABEL_SIZE}px ${FONT}`;
  context.textBaseline = "middle";
  return context;
}

const textOfValue = (value) => (baseRun() ? `\u00d7 ${value.toPrecision(3)}` : formatValue(statistic(), value));

// Heads of round values on a logarithmic scale, and every how many powers of ten they stand: dense to sparse.
const ROUND = [[1, [1, 2, 5]], [1, [1, 3]], [1, [1]], [2, [1]], [3, [1]], [6, [1]]];

// Round values between the ends of a scale, for the marks of an axis: at most `most`, and three or more if there are.
function roundValues(scale, most) {
  const [low, high] = [scale.at(0), scale.at(1)];
  const kinds = scale.isLog ? ROUND.map(([decades, heads]) => powers(low, high, decades, heads)) : [];
  if (high > low) {
    const finest = Math.floor(Math.log10(high - low)) - 1;
    const steps = [0, 1, 2].flatMap((more) => [1, 2, 5].map((head) => head * 10 ** (finest + more)));
    kinds.push(...steps.map((step) => multiples(low, high, step)));
  }
  const fitting = (least) => kinds.find(({ length }) => length >= least && length <= most);
  return fitting(3) ?? fitting(2) ?? [low];
}

function powers(low, high, decades, heads) {
  const values = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    if (power % decades === 0) values.push(...heads.map((head) => head * 10 ** power));
  }
  return values.filter((value) => value >= low && value <= high);
}

function multiples(low, high, step) {
  const first = Math.ceil(low / step);
  return Array.from({ length: Math.min(100, Math.max(0, Math.floor(high / step) - first + 1)) }, (_, k) => (first + k) * step);
}

// Without zeros behind the point: what stands on an axis is round.
const brieflyRound = (text) => text.replace(/\.(\d*?)0+ /, (_, digits) => (digits ? `.${digits} ` : " "));

// The colours and what they stand for.
function drawLegend(surface, scale) {
  const pen = prepared(surface);
  const [left, wide, tall] = [2, surface.width - 4, 14];
  for (let k = 0; k < wide; k++) {
    pen.fillStyle = `rgb(${colourMaps[chosenMap()](k / (wide - 1)).join()})`;
    pen.fillRect(left + k, 2, 1.5, tall);
  }
  pen.strokeStyle = themeText("--line");
  pen.strokeRect(left - 0.5, 1.5, wide + 1, tall + 1);
  pen.fillStyle = themeText("--ink");
  const most = scale.at(0) === scale.at(1) ? 2 : clamp(Math.floor(surface.width / 80), 2, 7);
  for (let k = 0; k < most; k++) {
    const place = k / (most - 1);
    pen.textAlign = k === 0 ? "left" : k === most - 1 ? "right" : "center";
    pen.fillText(textOfValue(scale.at(place)), left + place * wide, tall + 14);
  }
}
