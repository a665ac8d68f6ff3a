// What is shown as a file: the picture as PNG, its values as CSV.

function download(name, blob) {
  const link = element("a", { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

const fileName = (ending) => {
  const words = [run().name, run().mode, view.statistic, run().lengths[view.length], baseRun() ? "difference" : ""];
  return `${words.filter((word) => word !== "").join("_").replace(/[^\w.-]+/g, "_")}.${ending}`;
};

// What the picture shows, in one line.
function pictureTitle() {
  const length = `${formatBytes(run().lengths[view.length])} bytes`;
  const other = baseRun() ? `, compared with ${baseRun().name}` : "";
  return `${view.statistic} of ${run().mode} at ${length}${other}`;
}

// The matrix with its title and legend, in twice the pixels of the screen so that print is sharp.
function matrixPicture() {
  const { canvas } = matrix.grid;
  const [ratio, head, foot] = [2, 44, 48];
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  const picture = element("canvas", { width: width * ratio, height: (height + head + foot) * ratio });
  const body = element("canvas", { width: width * ratio, height: height * ratio });
  matrix.grid.drawOn(body.getContext("2d"), ratio);
  const pen = picture.getContext("2d");
  pen.fillStyle = themeText("--ground");
  pen.fillRect(0, 0, picture.width, picture.height);
  pen.drawImage(body, 0, head * ratio);
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.fillStyle = themeText("--ink");
  pen.textBaseline = "middle";
  pen.font = `bold 15px ${FONT}`;
  pen.fillText(pictureTitle(), 12, 16);
  pen.font = `${LABEL_SIZE}px ${FONT}`;
  pen.fillText(`${run().name}; row = source, column = destination`, 12, 34);
  pen.setTransform(ratio, 0, 0, ratio, matrix.grid.margins.left * ratio, (head + height + 6) * ratio);
  drawLegend({ clientWidth: matrix.grid.plot().width, clientHeight: foot }, matrix.scale, pen);
  return picture;
}

const savePicture = () => matrixPicture().toBlob((blob) => download(fileName("png"), blob), "image/png");

const quoted = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

// One line per pair of the picture.
function matrixTable() {
  const what = baseRun() ? "ratio" : `${view.statistic}_${statistic().unit === "s" ? "seconds" : "samples"}`;
  const lines = [`length,source,destination,source_host,destination_host,${what}`];
  const count = matrix.units.length;
  for (let row = 0; row < count; row++) {
    for (let column = 0; column < count; column++) {
      const code = matrix.layer.codes[row * count + column];
      if (code === EMPTY) continue;
      const [from, to] = [matrix.units[row], matrix.units[column]];
      const value = code === LOST ? "" : valueOf(code).toPrecision(6);
      lines.push([run().lengths[view.length], from.ranks.join(" "), to.ranks.join(" "), quoted(from.label), quoted(to.label), value].join(","));
    }
  }
  return `${lines.join("\n")}\n`;
}

const saveTable = () => download(fileName("csv"), new Blob([matrixTable()], { type: "text/csv" }));
