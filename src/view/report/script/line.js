// One row or one column over all lengths, lengths downwards.

const line = { grid: null, layer: null, scale: null };

// A layer with the cells of the picked source (or destination) at every length. `paint` is told whenever more of it is
// there: with many ranks the lengths come one after the other.
async function lineLayer(isCurrent, paint) {
  const [kept, other, units] = [statistic(), baseRun(), matrix.units];
  const { ranks, lengths } = run();
  const isRow = view.line === "row";
  const own = matrix.units[placeOf(isRow ? view.source : view.destination)];
  const codes = new Uint16Array(units.length * lengths.length);
  let painted = performance.now();
  for (let length = 0; length < lengths.length; length++) {
    const all = await wantedCodes(kept, length, other);
    if (!isCurrent()) return null;
    for (let k = 0; k < units.length; k++) {
      const [from, to] = isRow ? [own.ranks, units[k].ranks] : [units[k].ranks, own.ranks];
      codes[length * units.length + k] = highest(all, ranks, from, to);
    }
    if (performance.now() - painted > 200) {
      paint(new Layer(units.length, lengths.length, codes));
      painted = performance.now();
    }
  }
  return new Layer(units.length, lengths.length, codes);
}


// The picked length and the picked cell.
function drawPickedLength(context, grid) {
  const [plot, size] = [grid.plot(), grid.size()];
  const column = placeOf(view.line === "row" ? view.destination : view.source);
  const at = grid.at(column, view.length);
  context.strokeStyle = themeText("--picked");
  context.lineWidth = 1;
  context.strokeRect(plot.left - 2, at.y, plot.width + 4, Math.max(size.y, 2));
  context.lineWidth = 2.5;
  const grow = Math.max(0, 6 - size.x) / 2;
  context.strokeRect(at.x - grow, at.y - 1, size.x + 2 * grow, Math.max(size.y, 2) + 2);
}
