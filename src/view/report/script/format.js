// Numbers and lengths for people, as the programs print them.

const TIME_UNITS = [[1, "s"], [1e-3, "ms"], [1e-6, "us"], [1e-9, "ns"]];

// Three significant digits and the unit that fits.
function formatSeconds(value) {
  if (Number.isNaN(value)) return "missing";
  if (value === 0) return "0 s";
  const size = Math.abs(value);
  const [scale, unit] = TIME_UNITS.find(([limit]) => size >= limit * 0.9995) ?? TIME_UNITS.at(-1);
  const scaled = value / scale;
  const decimals = Math.abs(scaled) >= 99.95 ? 0 : Math.abs(scaled) >= 9.995 ? 1 : 2;
  return `${scaled.toFixed(decimals)} ${unit}`;
}

function formatValue(statistic, value) {
  if (statistic.unit === "s" || Number.isNaN(value)) return formatSeconds(value);
  return String(Math.round(value));
}

// 65536 is 64K, 65537 is 65537.
function formatBytes(bytes) {
  for (const [power, unit] of [[40, "T"], [30, "G"], [20, "M"], [10, "K"]]) {
    if (bytes >= 2 ** power && bytes % 2 ** power === 0) return `${bytes / 2 ** power}${unit}`;
  }
  return String(bytes);
}

// How far a value lies from another one: `3.90 times the median`, or in percent where it is near.
function formatRatio(ratio, other) {
  if (!Number.isFinite(ratio)) return `beside ${other}`;
  if (ratio >= 1.995 || ratio <= 0.5) return `${ratio.toPrecision(3)} times ${other}`;
  const percent = Math.abs(ratio - 1) * 100;
  return percent < 0.05 ? `equal to ${other}` : `${percent.toFixed(1)} % ${ratio > 1 ? "above" : "below"} ${other}`;
}

// A value of a document in words, whatever its form is. Numbers of seconds are those of fields that say so, and of
// pairs that were measured again.
function inWords(value, name = "") {
  if (Array.isArray(value)) return value.map((one) => inWords(one, name)).join(", ");
  if (value !== null && typeof value === "object") {
    const parts = Object.entries(value).filter(([, part]) => part !== null);
    return parts.map(([part, text]) => `${part.replace(/_seconds$/, "").replaceAll("_", " ")} ${inWords(text, part)}`).join(", ");
  }
  if (typeof value === "number" && /(^|_)(seconds|first|second|alone)$/.test(name)) return formatSeconds(value);
  return String(value ?? "");
}

function formatShare(share) {
  return `${+(100 * share).toPrecision(3)} %`;
}

// "node9" comes before "node10".
const byName = new Intl.Collator("en", { numeric: true }).compare;

// An element with properties and children; texts are never markup.
function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

const byId = (id) => document.getElementById(id);
