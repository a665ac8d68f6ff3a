// From codes to colours.
//
// A scale says which values the first and the last colour stand for. Tables of colours have an entry for every code, so
// that painting a matrix is looking numbers up.

// Codes of layers besides those of data.js: nothing to show (the diagonal, pairs that are not scheduled) takes the
// place of "missing", and what is missing is the highest of all, so that it stays visible in small pictures.
const EMPTY = 0;
const LOST = 65535;

// Codes of differences: the logarithm of the ratio in steps around the middle.
const SAME = 32768;
const DIFFERENCE_STEP = 0.002;

// The scatter of a healthy machine, spread over all colours, would look like a fault.
const LEAST_RATIO = 1.25;

const FASTER = [0, 121, 92];
const NEUTRAL_MIDDLE = [244, 243, 238];
const SLOWER = [196, 38, 30];

const mix = (a, b, share) => a.map((channel, k) => Math.round(channel + (b[k] - channel) * share));

const colourMaps = {
  perceptual: (place) => description.perceptual[Math.round(255 * place)],
  // As in network_tests2: the longer, the nearer to black.
  grey: (place) => mix([250, 250, 250], [8, 8, 8], place),
  difference: (place) =>
    place < 0.5 ? mix(FASTER, NEUTRAL_MIDDLE, 2 * place) : mix(NEUTRAL_MIDDLE, SLOWER, 2 * place - 1),
};

// Which values the colours stand for. `white` and `black` move the ends, in percent of the range.
class Scale {
  constructor(low, high, { logarithmic, white, black }) {
    const isLog = logarithmic && low > 0;
    const widened = low > 0 ? Math.max(high, low * LEAST_RATIO) : high;
    this.isLog = isLog;
    const [first, last] = isLog ? [Math.log(low), Math.log(widened)] : [low, widened];
    this.first = first + ((last - first) * white) / 100;
    this.last = first + ((last - first) * Math.max(black, white + 1)) / 100;
  }

  // Where a value lies, from 0 to 1.
  place(value) {
    const at = this.isLog ? Math.log(value) : value;
    const place = (at - this.first) / (this.last - this.first);
    return Number.isNaN(place) ? 0 : Math.min(1, Math.max(0, place));
  }

  // The value at a place.
  at(place) {
    const at = this.first + (this.last - this.first) * place;
    return this.isLog ? Math.exp(at) : at;
  }
}

// For differences: the neutral colour is "the same", and both ends are as far away.
function differenceScale(farthest, { white, black }) {
  const widest = Math.max(Math.log(LEAST_RATIO), farthest) * Math.max(0.01, (black - white) / 100);
  return new Scale(Math.exp(-widest), Math.exp(widest), { logarithmic: true, white: 0, black: 100 });
}

const isLittleEndian = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1;
const packed = ([r, g, b], alpha = 255) =>
  (isLittleEndian ? (alpha << 24) | (b << 16) | (g << 8) | r : (r << 24) | (g << 16) | (b << 8) | alpha) >>> 0;

// One entry per code. Missing cells are transparent: the hatching behind them shows.
function colourTable(scale, map, valueOf) {
  const table = new Uint32Array(65536);
  const steps = Uint32Array.from({ length: 256 }, (_, k) => packed(colourMaps[map](k / 255)));
  for (let code = 1; code < LOST; code++) table[code] = steps[Math.round(255 * scale.place(valueOf(code)))];
  table[EMPTY] = packed(themeColour("--empty"));
  table[LOST] = 0;
  return table;
}

const valueOfDifference = (code) => Math.exp((code - SAME) * DIFFERENCE_STEP);

// A colour of the style sheet, as red, green, blue.
function themeColour(name) {
  const text = themeText(name).slice(1);
  return [0, 2, 4].map((start) => parseInt(text.slice(start, start + 2), 16));
}

const themeText = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

let hatching = null;

// A pattern of slanting lines for what is missing.
function hatch(context) {
  const colours = [themeText("--hatch-ground"), themeText("--hatch")];
  if (hatching?.key === colours.join()) return hatching.pattern;
  const tile = element("canvas", { width: 6, height: 6 });
  const pen = tile.getContext("2d");
  pen.fillStyle = colours[0];
  pen.fillRect(0, 0, 6, 6);
  pen.strokeStyle = colours[1];
  pen.lineWidth = 1.6;
  pen.beginPath();
  for (const shift of [-6, 0, 6]) {
    pen.moveTo(shift - 1, 7);
    pen.lineTo(shift + 7, -1);
  }
  pen.stroke();
  hatching = { key: colours.join(), pattern: context.createPattern(tile, "repeat") };
  return hatching.pattern;
}
