// A layer is what a grid paints: a rectangle of codes, [row][column], in the order and the units that are wanted.

class Layer {
  // `countsDiagonal`: whether cells from a unit to itself are among those that are counted and summed up.
  constructor(width, height, codes, { countsDiagonal = true } = {}) {
    Object.assign(this, { width, height, codes, countsDiagonal, levels: new Map() });
    this.levels.set("0,0", { width, height, codes });
  }

  // The layer with 2^kx columns and 2^ky rows as one. The highest code stands for a block, so that a single slow pair,
  // or one that is missing, stays visible however small the picture is.
  level(kx, ky) {
    const key = `${kx},${ky}`;
    if (!this.levels.has(key)) {
      const below = this.level(Math.max(kx - 1, 0), Math.max(ky - 1, 0));
      this.levels.set(key, halved(below, kx > 0 ? 2 : 1, ky > 0 ? 2 : 1));
    }
    return this.levels.get(key);
  }

  // How often each code occurs.
  counts() {
    if (!this.counted) {
      this.counted = new Uint32Array(65536);
      for (const code of this.codes) this.counted[code]++;
      for (let k = 0; k < this.width && !this.countsDiagonal; k++) this.counted[this.codes[k * (this.width + 1)]]--;
    }
    return this.counted;
  }

  // Smallest and largest code of a value that is not zero, 0 where there is none; the middle one; how many cells have a
  // value, how many are missing; whether some have nothing to show.
  summary() {
    this.summed ??= this.sumUp();
    return this.summed;
  }

  sumUp() {
    const counts = this.counts();
    let [low, high, present] = [0, 0, 0];
    for (let code = 1; code < LOST; code++) {
      if (!counts[code]) continue;
      present += counts[code];
      if (code === ZERO) continue;
      low ||= code;
      high = code;
    }
    let passed = 0;
    let middle = 1;
    while (middle < LOST && (passed += counts[middle]) * 2 < present) middle++;
    return { low, high, present, middle, lost: counts[LOST], isEmptySomewhere: this.codes.includes(EMPTY) };
  }
}

function halved({ width, height, codes }, fx, fy) {
  const w = Math.ceil(width / fx);
  const h = Math.ceil(height / fy);
  const out = new Uint16Array(w * h);
  for (let y = 0; y < h; y++) {
    const upper = fy * y * width;
    const lower = Math.min(fy * y + fy - 1, height - 1) * width;
    for (let x = 0; x < w; x++) {
      const left = fx * x;
      const right = Math.min(left + fx - 1, width - 1);
      const a = Math.max(codes[upper + left], codes[upper + right]);
      const b = Math.max(codes[lower + left], codes[lower + right]);
      out[y * w + x] = a > b ? a : b;
    }
  }
  return { width: w, height: h, codes: out };
}

// The codes of a length as they are drawn, by rank: [source][destination].
async function drawnCodes(kept, length) {
  const { ranks } = kept.run;
  const [codes, states] = await Promise.all([kept.codes(length), kept.run.states(length)]);
  const drawn = codes.slice();
  for (let cell = 0; cell < drawn.length; cell++) {
    if (drawn[cell] === MISSING) drawn[cell] = states?.[cell] === NOT_SCHEDULED ? EMPTY : LOST;
  }
  for (let rank = 0; rank < ranks; rank++) {
    const cell = rank * (ranks + 1);
    if (codes[cell] < FIRST) drawn[cell] = EMPTY;
  }
  return drawn;
}

// Rank of the same name in another run, [rank], -1 where there is none.
const partners = (() => {
  const known = new Map();
  return (mine, other) => {
    const key = `${mine.number} ${other.number}`;
    if (!known.has(key)) {
      const places = new Map(other.labels.map((label, rank) => [label, rank]));
      known.set(key, mine.labels.map((label) => places.get(label) ?? -1));
    }
    return known.get(key);
  };
})();

// How a length differs from the same length of another run; all missing where that has none.
async function differenceCodes(kept, length, other) {
  const base = other.statistic(kept.name);
  const baseLength = other.lengths.indexOf(kept.run.lengths[length]);
  const mine = await drawnCodes(kept, length);
  if (!base || baseLength < 0) return mine.map((code) => (code === EMPTY ? EMPTY : LOST));
  const theirs = await drawnCodes(base, baseLength);
  const { ranks } = kept.run;
  const partner = partners(kept.run, other);
  for (let source = 0, cell = 0; source < ranks; source++) {
    for (let destination = 0; destination < ranks; destination++, cell++) {
      const code = mine[cell];
      if (code === EMPTY) continue;
      const [i, j] = [partner[source], partner[destination]];
      const old = i < 0 || j < 0 ? LOST : theirs[i * other.ranks + j];
      if (code === LOST || old === LOST || old === EMPTY) mine[cell] = LOST;
      else if (code === ZERO || old === ZERO) mine[cell] = code === old ? SAME : LOST;
      else mine[cell] = clamp(SAME + Math.round((kept.log(code) - base.log(old)) / DIFFERENCE_STEP), 1, LOST - 1);
    }
  }
  return mine;
}

// The codes of a length that the view asks for, by rank.
const wantedCodes = (kept, length, other) =>
  other ? differenceCodes(kept, length, other) : drawnCodes(kept, length);

// The rows and columns of a picture: units[k] = { label, brief, ranks }; `brief` is for axes.
function unitsOf({ order, unit }, of) {
  const hosts = hostOrder(order, of);
  if (unit === "host") return hosts.map((host) => ({ label: of.hosts[host], brief: of.brief[host], ranks: of.ranksOfHost[host] }));
  const ranks = order === "rank" ? [...of.labels.keys()]
    : order === "group" && of.order ? of.order
    : hosts.flatMap((host) => of.ranksOfHost[host]);
  return ranks.map((rank) => ({ label: of.labels[rank], brief: of.briefLabels[rank], ranks: [rank] }));
}

function hostOrder(order, of) {
  const hosts = [...of.hosts.keys()];
  if (order === "host") return hosts.sort((a, b) => byName(of.hosts[a], of.hosts[b]));
  if (order === "group" && of.order) return [...new Set(of.order.map((rank) => of.host_of_rank[rank]))];
  if (order === "group") {
    const grouped = of.groups.flatMap((level) => level.flatMap((group) => group.hosts));
    return [...new Set([...grouped, ...hosts])];
  }
  return hosts;
}

// Codes by rank to a layer by unit. Of several ranks the slowest pair stands for all; a missing one is slower still.
function arranged(codes, ranks, units) {
  const count = units.length;
  const isPlain = count === ranks && units.every((unit, place) => unit.ranks[0] === place);
  const ofRanks = { countsDiagonal: false };
  if (isPlain) return new Layer(count, count, codes, ofRanks);
  const out = new Uint16Array(count * count);
  if (units.every((unit) => unit.ranks.length === 1)) {
    const order = Uint32Array.from(units, (unit) => unit.ranks[0]);
    for (let y = 0, cell = 0; y < count; y++) {
      const row = order[y] * ranks;
      for (let x = 0; x < count; x++, cell++) out[cell] = codes[row + order[x]];
    }
    return new Layer(count, count, out, ofRanks);
  }
  for (let y = 0, cell = 0; y < count; y++) {
    for (let x = 0; x < count; x++, cell++) out[cell] = highest(codes, ranks, units[y].ranks, units[x].ranks);
  }
  return new Layer(count, count, out);
}

function highest(codes, ranks, sources, destinations) {
  let high = EMPTY;
  for (const source of sources) {
    for (const destination of destinations) {
      const code = codes[source * ranks + destination];
      if (code > high) high = code;
    }
  }
  return high;
}
