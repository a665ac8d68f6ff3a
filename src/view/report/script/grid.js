// A rectangle of cells on a canvas, which can be zoomed, moved and picked from.
//
// Paints from the level of its layer whose cells are at least as large as a pixel of the screen, and only what is
// visible: a frame costs as much for 4,096 ranks as for 400.

const LABEL_SIZE = 11;
const LONGEST_LABEL = 13;
const FEWEST_CELLS = 3;

class Grid {
  // `options`: margins {left, top, right, bottom} in pixels; isSquare; rowLabel(row), columnLabel(column); hover(row,
  // column, event) and leave(); pick(row, column); moved(); overlay(context, grid) within the cells' part of the canvas,
  // beside(context, grid) anywhere.
  constructor(canvas, options) {
    Object.assign(this, options);
    this.canvas = canvas;
    this.layer = null;
    this.table = null;
    this.visible = null; // {x, y, width, height} in cells
    this.picture = document.createElement("canvas");
    this.listen();
    new ResizeObserver(() => this.draw()).observe(canvas);
  }

  // `part`: what is to be visible, { x, y, width } in cells; else that stays what it was, unless the layer's size changes.
  show(layer, table, part = null) {
    const isOther = this.layer?.width !== layer.width || this.layer?.height !== layer.height;
    this.layer = layer;
    this.table = table;
    if (part) this.visible = this.within(part);
    else if (isOther) this.visible = this.everything();
    this.draw();
    if (part || isOther) this.moved?.();
  }

  everything() {
    return { x: 0, y: 0, width: this.layer.width, height: this.layer.height };
  }

  isWhole() {
    return this.visible.width >= this.layer.width && this.visible.height >= this.layer.height;
  }

  // The part of the canvas that cells are painted on, in CSS pixels.
  plot() {
    const { left, top, right, bottom } = this.margins;
    const width = Math.max(1, this.canvas.clientWidth - left - right);
    const height = Math.max(1, this.canvas.clientHeight - top - bottom);
    return { left, top, width, height };
  }

  // Pixels of a cell.
  size() {
    const plot = this.plot();
    return { x: plot.width / this.visible.width, y: plot.height / this.visible.height };
  }

  // Where a place among the cells is on the canvas.
  at(column, row) {
    const [plot, size] = [this.plot(), this.size()];
    return { x: plot.left + (column - this.visible.x) * size.x, y: plot.top + (row - this.visible.y) * size.y };
  }

  draw() {
    if (!this.layer || !this.canvas.clientWidth) return;
    const ratio = window.devicePixelRatio || 1;
    const width = Math.round(this.canvas.clientWidth * ratio);
    const height = Math.round(this.canvas.clientHeight * ratio);
    if (this.canvas.width !== width || this.canvas.height !== height) Object.assign(this.canvas, { width, height });
    this.drawOn(this.canvas.getContext("2d"), ratio);
  }

  // Also on other canvases: that of a picture to keep.
  drawOn(context, ratio) {
    const plot = this.plot();
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = themeText("--ground");
    context.fillRect(0, 0, this.canvas.clientWidth, this.canvas.clientHeight);
    context.save();
    context.beginPath();
    context.rect(plot.left, plot.top, plot.width, plot.height);
    context.clip();
    context.fillStyle = hatch(context);
    context.fillRect(plot.left, plot.top, plot.width, plot.height);
    this.paintCells(context, ratio);
    this.overlay?.(context, this);
    context.restore();
    this.beside?.(context, this);
    this.drawLabels(context);
  }

  paintCells(context, ratio) {
    const size = this.size();
    const level = (pixels) => Math.max(0, Math.ceil(Math.log2(1 / (pixels * ratio)) - 0.01));
    const [kx, ky] = [level(size.x), level(size.y)];
    const { width, height, codes } = this.layer.level(kx, ky);
    const [fx, fy] = [2 ** kx, 2 ** ky];
    const { visible } = this;
    const x0 = clamp(Math.floor(visible.x / fx), 0, width - 1);
    const y0 = clamp(Math.floor(visible.y / fy), 0, height - 1);
    const x1 = clamp(Math.ceil((visible.x + visible.width) / fx), x0 + 1, width);
    const y1 = clamp(Math.ceil((visible.y + visible.height) / fy), y0 + 1, height);
    const image = new ImageData(x1 - x0, y1 - y0);
    const pixels = new Uint32Array(image.data.buffer);
    for (let y = y0, pixel = 0; y < y1; y++) {
      for (let k = y * width + x0; k < y * width + x1; k++, pixel++) pixels[pixel] = this.table[codes[k]];
    }
    Object.assign(this.picture, { width: image.width, height: image.height });
    this.picture.getContext("2d").putImageData(image, 0, 0);
    context.imageSmoothingEnabled = false;
    // The last block of a level may reach beyond the layer.
    const from = this.at(x0 * fx, y0 * fy);
    context.drawImage(this.picture, from.x, from.y, image.width * fx * size.x, image.height * fy * size.y);
    const end = this.at(this.layer.width, this.layer.height);
    context.fillStyle = themeText("--ground");
    context.fillRect(end.x, 0, 1e5, 1e5);
    context.fillRect(0, end.y, 1e5, 1e5);
  }

  drawLabels(context) {
    const [plot, size] = [this.plot(), this.size()];
    context.fillStyle = themeText("--faint");
    context.font = `${LABEL_SIZE}px ${FONT}`;
    context.textBaseline = "middle";
    for (const row of places(this.visible.y, this.visible.height, this.layer.height, size.y)) {
      const { y } = this.at(0, row + 0.5);
      context.textAlign = "right";
      if (y > plot.top && y < plot.top + plot.height) context.fillText(shortened(this.rowLabel(row)), plot.left - 6, y);
    }
    for (const column of places(this.visible.x, this.visible.width, this.layer.width, size.x)) {
      const { x } = this.at(column + 0.5, 0);
      if (x < plot.left || x > plot.left + plot.width) continue;
      context.save();
      context.translate(x, plot.top - 6);
      context.rotate(-Math.PI / 3);
      context.textAlign = "left";
      context.fillText(shortened(this.columnLabel(column)), 0, 0);
      context.restore();
    }
  }

  // The cell under a pointer, or null.
  cellAt(event) {
    if (!this.layer) return null;
    const box = this.canvas.getBoundingClientRect();
    const [plot, size] = [this.plot(), this.size()];
    const [x, y] = [event.clientX - box.left - plot.left, event.clientY - box.top - plot.top];
    if (x < 0 || y < 0 || x >= plot.width || y >= plot.height) return null;
    const column = Math.floor(this.visible.x + x / size.x);
    const row = Math.floor(this.visible.y + y / size.y);
    return column >= 0 && column < this.layer.width && row >= 0 && row < this.layer.height ? { row, column } : null;
  }

  // Makes everything `factor` times as large around a place on the canvas; its middle if none is given.
  zoom(factor, x = null, y = null) {
    if (!this.layer) return;
    const [plot, { visible }] = [this.plot(), this];
    const [sx, sy] = [x === null ? 0.5 : (x - plot.left) / plot.width, y === null ? 0.5 : (y - plot.top) / plot.height];
    const { width, height } = this.within({ ...visible, width: visible.width / factor, height: visible.height / factor });
    this.look(visible.x + (visible.width - width) * sx, visible.y + (visible.height - height) * sy, width, height);
  }

  // A part, as far as there is something.
  within({ x, y, width, height = width }) {
    const least = (all) => Math.min(FEWEST_CELLS, all);
    const w = clamp(width, least(this.layer.width), this.layer.width);
    const h = clamp(height, least(this.layer.height), this.layer.height);
    return { x: clamp(x, 0, this.layer.width - w), y: clamp(y, 0, this.layer.height - h), width: w, height: h };
  }

  look(x, y, width, height) {
    this.visible = this.within({ x, y, width, height });
    this.draw();
    this.moved?.();
  }

  lookAtAll() {
    if (this.layer) this.look(0, 0, this.layer.width, this.layer.height);
  }

  shows(row, column) {
    const { x, y, width, height } = this.visible;
    return column >= x && column + 1 <= x + width && row >= y && row + 1 <= y + height;
  }

  // Moves until a cell is visible.
  reveal(row, column) {
    const { width, height } = this.visible;
    if (!this.shows(row, column)) this.look(column + 0.5 - width / 2, row + 0.5 - height / 2, width, height);
  }

  listen() {
    const { canvas } = this;
    let held = null;
    canvas.addEventListener("wheel", (event) => {
      // Where everything is visible already, the page scrolls on.
      if (!this.layer || (event.deltaY > 0 && this.isWhole())) return;
      event.preventDefault();
      const box = canvas.getBoundingClientRect();
      this.zoom(Math.exp(-event.deltaY / 300), event.clientX - box.left, event.clientY - box.top);
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      if (!this.layer || event.button !== 0) return;
      held = { x: event.clientX, y: event.clientY, visible: this.visible, hasMoved: false };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (held) this.drag(held, event);
      const cell = this.cellAt(event);
      if (cell && !held?.hasMoved) this.hover(cell.row, cell.column, event);
      else this.leave();
    });
    canvas.addEventListener("pointerup", (event) => {
      const cell = held && !held.hasMoved && this.cellAt(event);
      held = null;
      if (cell) this.pick(cell.row, cell.column);
    });
    canvas.addEventListener("pointercancel", () => (held = null));
    canvas.addEventListener("pointerleave", () => this.leave());
    canvas.addEventListener("dblclick", () => this.lookAtAll());
  }

  drag(held, event) {
    const [dx, dy] = [event.clientX - held.x, event.clientY - held.y];
    if (!held.hasMoved && Math.hypot(dx, dy) < 5) return;
    held.hasMoved = true;
    const size = this.size();
    const { x, y, width, height } = held.visible;
    this.look(x - dx / size.x, y - dy / size.y, width, height);
  }
}

const FONT = "system-ui, sans-serif";

// Cut in front, since the numbers that tell hosts apart mostly stand behind.
const shortened = (text) => (text.length > LONGEST_LABEL ? `\u2026${text.slice(1 - LONGEST_LABEL)}` : text);

// Rows or columns that are to be labelled: evenly spread, as many as there is room for.
function* places(first, visible, count, size) {
  let step = 1;
  for (const next of [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000]) if (step * size < LABEL_SIZE + 3) step = next;
  for (let k = Math.ceil(Math.max(first - 0.5, 0) / step) * step; k < Math.min(first + visible, count); k += step) yield k;
}
