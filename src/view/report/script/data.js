// The data of the page: runs, their statistics, and matrices of codes, unpacked when they are needed.
//
// A code stands for a value on a logarithmic grid (codes.rs packs what this file unpacks): 0 is missing, 1 is zero, and
// from 2 on the logarithm of the value grows by the statistic's step. Axes are [source][destination] everywhere.

const description = JSON.parse(document.getElementById("description").textContent);

const MISSING = 0;
const ZERO = 1;
const FIRST = 2;
const LOG_LOWEST = Math.log(1e-12);
const SHIFT = 32770;
const BYTE_ZERO = 253;
const BYTE_MISSING = 254;
const BYTE_LONG = 255;

// Unpacked matrices are kept as long as they take no more bytes than this together.
const CACHE_BYTES = 400e6;

// Promises by key, the least recently used first.
const cache = new Map();
let cachedBytes = 0;

function cachedOr(key, bytes, make) {
  const known = cache.get(key);
  if (known) {
    cache.delete(key);
    cache.set(key, known);
    return known.promise;
  }
  const entry = { promise: make(), bytes };
  cache.set(key, entry);
  cachedBytes += bytes;
  for (const [oldest, { bytes: freed }] of cache) {
    if (cachedBytes <= CACHE_BYTES || oldest === key) break;
    cache.delete(oldest);
    cachedBytes -= freed;
  }
  return entry.promise;
}

// The bytes of a piece of data of the page.
async function piece(number) {
  const text = document.getElementById(`c${number}`).textContent;
  const packed = Uint8Array.fromBase64
    ? Uint8Array.fromBase64(text)
    : Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Codes from residuals; `expected(cell)` is what they are added to.
function addResiduals(bytes, cells, expected, codes) {
  let long = cells;
  for (let cell = 0; cell < cells; cell++) {
    const byte = bytes[cell];
    if (byte < BYTE_ZERO) {
      codes[cell] = expected(cell) + ((byte >> 1) ^ -(byte & 1));
    } else if (byte === BYTE_LONG) {
      codes[cell] = bytes[long] | (bytes[long + 1] << 8);
      long += 2;
    } else {
      codes[cell] = byte === BYTE_ZERO ? ZERO : MISSING;
    }
  }
  return codes;
}

// One statistic of a run.
class Statistic {
  constructor(run, about) {
    Object.assign(this, about);
    this.run = run;
    this.baseDistances = null;
  }

  // Natural logarithm of the value of a code from FIRST on.
  log(code) {
    return LOG_LOWEST + (code - FIRST) * this.step;
  }

  value(code) {
    if (code < FIRST) return code === ZERO ? 0 : NaN;
    return Math.exp(this.log(code));
  }

  // The codes of the matrix with number `length`: a Uint16Array.
  codes(length) {
    const key = `${this.run.number} ${this.name} ${length}`;
    return cachedOr(key, 2 * this.run.cells, () => this.unpack(length));
  }

  async unpack(length) {
    this.baseDistances ??= this.unpackBase();
    const [base, bytes] = await Promise.all([this.baseDistances, piece(this.chunks[length])]);
    const middle = this.middles[length];
    return addResiduals(bytes, this.run.cells, (cell) => middle + base[cell], new Uint16Array(this.run.cells));
  }

  async unpackBase() {
    const distances = new Int32Array(this.run.cells);
    addResiduals(await piece(this.base), this.run.cells, () => SHIFT, distances);
    for (let cell = 0; cell < distances.length; cell++) distances[cell] -= SHIFT;
    return distances;
  }
}

class Run {
  constructor(about, number) {
    Object.assign(this, about);
    this.number = number;
    // Runs that were judged together have the same.
    this.diagnosis = description.diagnoses[about.diagnosis] ?? null;
    this.ranks = about.host_of_rank.length;
    this.cells = this.ranks * this.ranks;
    this.statistics = about.statistics.map((statistic) => new Statistic(this, statistic));
    this.ranksOfHost = about.hosts.map(() => []);
    about.host_of_rank.forEach((host, rank) => this.ranksOfHost[host].push(rank));
    this.labels = about.host_of_rank.map((host, rank) => {
      const ranks = this.ranksOfHost[host];
      return ranks.length === 1 ? about.hosts[host] : `${about.hosts[host]}:${ranks.indexOf(rank)}`;
    });
    // The same where there is little room.
    this.briefLabels = about.host_of_rank.map((host, rank) => about.brief[host] + this.labels[rank].slice(about.hosts[host].length));
  }

  statistic(name) {
    return this.statistics.find((statistic) => statistic.name === name);
  }

  // Numbers of the states of all cells at a length, or null where all were measured.
  states(length) {
    const chunk = this.state_chunks[length];
    if (chunk === null || chunk === undefined) return Promise.resolve(null);
    return cachedOr(`${this.number} states ${length}`, this.cells, () => piece(chunk));
  }

  // The set of every pair in the archive's range that has the length, or null.
  sets(length) {
    const part = this.parts.find(({ lengths }) => lengths[0] <= length && length < lengths[1]);
    if (!part) return Promise.resolve(null);
    return cachedOr(`${this.number} sets ${part.lengths[0]}`, 2 * this.cells, async () => {
      const bytes = await piece(part.sets);
      return Uint16Array.from({ length: this.cells }, (_, cell) => bytes[cell] | (bytes[this.cells + cell] << 8));
    });
  }
}

const runs = description.runs.map((about, number) => new Run(about, number));
const shownRuns = runs.filter((run) => !run.is_base);
const NOT_SCHEDULED = description.states.indexOf("not_scheduled");
