// The form above the pictures, the search for hosts, and the keys.

function fillChoices() {
  byId("run").replaceChildren(...shownRuns.map((each, number) => new Option(`${each.name} (${each.mode})`, number)));
  byId("run-choice").hidden = shownRuns.length < 2;
}

// What there is to choose from in the shown run. Not with every change of the view: that would close an open list.
function fillChoicesOfRun() {
  const { statistics, lengths, base, order, groups, is_inferred: isInferred, hosts, ranks, parts, labels } = run();
  byId("statistic").replaceChildren(...statistics.map(({ name, meaning }) => Object.assign(new Option(name, name), { title: meaning })));
  for (const id of ["length", "from", "to"]) byId(id).max = Math.max(0, lengths.length - 1);
  byId("hosts").replaceChildren(...labels.slice(0, 5000).map((label) => new Option("", label)));
  byId("compare-choice").hidden = base === null;
  byId("compare-text").textContent = base === null ? "" : `difference to ${runs[base].name}`;
  byId("unit-choice").hidden = hosts.length === ranks;
  byId("regions-choice").hidden = !parts.length;
  byId("marks-choice").hidden = !shownFindings().length;
  const byGroup = byId("order").querySelector('[value="group"]');
  byGroup.disabled = !order && !groups.length;
  byGroup.textContent = !order && groups.length && isInferred ? "by inferred group" : "by group";
}

// Shows in the form what the view is.
function updateControls() {
  const { lengths } = run();
  for (const input of document.querySelectorAll("[data-view]")) {
    const value = view[input.dataset.view];
    if (input.type === "checkbox") input.checked = Boolean(value);
    else input.value = value;
  }
  const text = (index) => (lengths.length ? `${formatBytes(lengths[index])} bytes` : "");
  for (const id of ["length", "from", "to"]) byId(id).setAttribute("aria-valuetext", text(view[id]));
  for (const id of ["white", "black"]) byId(id).setAttribute("aria-valuetext", `${view[id]} %`);
  byId("length-text").textContent = text(view.length);
  byId("window-text").textContent = `${text(view.from)} to ${text(view.to)}`;
  byId("window").hidden = view.range !== "window" || Boolean(baseRun());
  for (const id of ["colours", "scale", "range"]) byId(id).disabled = Boolean(baseRun());
}

// Another run is shown at the same message length and with the same pair, as far as it has them.
function changeRun(number) {
  const before = run();
  const bytes = before.lengths[view.length];
  const [source, destination, found] = [view.source, view.destination, view.found];
  view.run = number;
  const partner = partners(before, run());
  Object.assign(view, { length: run().lengths.indexOf(bytes), from: 0, to: -1, found: partner[found] ?? -1 });
  const isThere = partner[source] >= 0 && partner[destination] >= 0;
  [view.source, view.destination] = isThere ? [partner[source], partner[destination]] : [0, 1];
}

const STRINGS = new Set(Object.keys(DEFAULTS).filter((name) => typeof DEFAULTS[name] === "string"));

function listenToControls() {
  for (const input of document.querySelectorAll("[data-view]")) {
    input.addEventListener("input", () => {
      const { view: name } = input.dataset;
      if (name === "run") {
        changeRun(Number(input.value));
        return show();
      }
      view[name] = input.type === "checkbox" ? Number(input.checked) : STRINGS.has(name) ? input.value : Number(input.value);
      if (name === "white") view.black = Math.max(view.black, view.white + 1);
      if (name === "black") view.white = Math.min(view.white, view.black - 1);
      if (name === "from") view.to = Math.max(view.to, view.from);
      if (name === "to") view.from = Math.min(view.from, view.to);
      show();
    });
  }
  const actions = {
    play: togglePlay,
    whole: () => matrix.grid.lookAtAll(),
    closer: () => zoomAtPicked(1.6),
    farther: () => zoomAtPicked(1 / 1.6),
    theme: toggleTheme,
    help: () => byId("keys").showModal(),
  };
  for (const [id, action] of Object.entries(actions)) byId(id).addEventListener("click", () => action());
  for (const button of document.querySelectorAll("[data-picture], [data-table]")) {
    const { picture, table } = button.dataset;
    button.addEventListener("click", () => (picture ? savePicture(picture) : saveTable(table)));
  }
  listenToSearch();
  byId("matrix").addEventListener("keydown", matrixKey);
  document.addEventListener("keydown", anyKey);
}

let playing = false;

async function togglePlay() {
  playing = !playing;
  byId("play").textContent = playing ? "\u23f8 Pause" : "\u25b6 Play";
  while (playing) {
    view.length = (view.length + 1) % run().lengths.length;
    const shown = show();
    await Promise.all([shown, new Promise((after) => setTimeout(after, 160))]);
  }
}

function toggleTheme() {
  const root = document.documentElement;
  const isDark = (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  root.dataset.theme = isDark ? "light" : "dark";
  repaint();
}

// Moves the picked cell by units of the picture.
function step(rows, columns) {
  const move = (rank, by) => matrix.units[clamp(placeOf(rank) + by, 0, matrix.units.length - 1)].ranks[0];
  if (rows) view.source = move(view.source, rows);
  if (columns) view.destination = move(view.destination, columns);
  view.found = -1;
  show({ reveal: true });
}

// Around the picked cell, where it can be seen: else it would leave the picture.
function zoomAtPicked(factor) {
  const [row, column] = [placeOf(view.source), placeOf(view.destination)];
  const { x, y } = matrix.grid.at(column + 0.5, row + 0.5);
  if (matrix.grid.shows(row, column)) matrix.grid.zoom(factor, x, y);
  else matrix.grid.zoom(factor);
}

const MATRIX_KEYS = {
  ArrowUp: () => step(-1, 0),
  ArrowDown: () => step(1, 0),
  ArrowLeft: () => step(0, -1),
  ArrowRight: () => step(0, 1),
  "+": () => zoomAtPicked(1.6),
  "=": () => zoomAtPicked(1.6),
  "-": () => zoomAtPicked(1 / 1.6),
  0: () => matrix.grid.lookAtAll(),
  PageUp: () => stepLength(-1),
  PageDown: () => stepLength(1),
};

function matrixKey(event) {
  const action = MATRIX_KEYS[event.key];
  if (!action || event.ctrlKey || event.altKey || event.metaKey || !matrix.layer) return;
  event.preventDefault();
  action();
}

const stepLength = (by) => {
  view.length = clamp(view.length + by, 0, run().lengths.length - 1);
  show();
};

const ANY_KEYS = {
  "[": () => stepLength(-1),
  "]": () => stepLength(1),
  p: togglePlay,
  r: () => ((view.line = "row"), show()),
  c: () => ((view.line = "column"), show()),
  l: () => ((view.scale = view.scale === "log" ? "linear" : "log"), show()),
  g: () => ((view.colours = view.colours === "grey" ? "perceptual" : "grey"), show()),
  "/": () => byId("search").focus(),
  "?": () => byId("keys").showModal(),
};

function anyKey(event) {
  const isTyping = event.target.matches?.("input:not([type=range]):not([type=checkbox]), select, textarea");
  const action = ANY_KEYS[event.key];
  if (!action || isTyping || event.ctrlKey || event.altKey || event.metaKey || byId("keys").open) return;
  if (!run().lengths.length) return;
  event.preventDefault();
  action();
}
