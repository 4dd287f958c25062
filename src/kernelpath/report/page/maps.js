// Heat maps: features by sizes, and features by features.
const MOST_STRIPS = 30;
// Black or white, whichever stands out more on a cell: white from hot on in light, up to cool in dark.
const heatClass = (value) => (value > 0.775 ? "hot" : value > 0.565 ? "warm" : "cool");

// Rows of cells with names on the left; values from 0 to 1.
function cells(width, options) {
  const { title, description, names, values, columns, columnLabel, square, tell } = options;
  const small = narrow(width);
  const longest = Math.max(...names.map((name) => textWidth(cut(name, 80), smallLetter())));
  const left = Math.min(small ? 0.42 * width : 260, 16 + longest);
  const room = width - left - 8;
  const cell = square ? Math.min(columns.length <= 12 ? 46 : 28, room / columns.length) : room / columns.length;
  const least = smallLetter() + 3;
  const high = square ? Math.max(least, cell) : Math.max(least, Math.min(20, (current.paper ? 400 : 520) / names.length));
  const top = columnLabel ? 40 : 24;
  const height = top + high * names.length + 8;
  const root = picture(width, height, title, description);
  if (columnLabel) label(root, left, 12, columnLabel, { class: "axis small" });
  let last = -Infinity;
  columns.forEach((text, j) => {
    const middle = left + (j + 0.5) * cell;
    const half = textWidth(text, smallLetter()) / 2 + 4;
    if (middle - half < last || middle + half > width) return;
    last = middle + half;
    label(root, middle, top - 7, text, { class: "axis small", "text-anchor": "middle" });
  });
  root.append(svg("rect", { class: "frame", x: left, y: top, width: cell * columns.length, height: high * names.length }));
  names.forEach((name, i) => {
    label(root, left - 8, top + (i + 0.5) * high + smallLetter() * 0.34, fit(name, left - 10, smallLetter()), { class: "small", "text-anchor": "end" }, name);
    values[i].forEach((value, j) => {
      if (!known(value) || value <= 0) return;
      const gap = cell > 6 ? 1 : 0;
      root.append(svg("rect", { class: "heat", x: fixed(left + j * cell), y: fixed(top + i * high), width: fixed(cell - gap), height: fixed(high - 1), "fill-opacity": Math.min(1, value).toFixed(3) }));
      if (square && cell >= 34) label(root, left + (j + 0.5) * cell, top + (i + 0.5) * high + 4, value.toFixed(2), { class: `small ${heatClass(value)}`, "text-anchor": "middle" });
    });
  });
  const pick = svg("rect", { class: "pick", width: cell, height: high, visibility: "hidden" });
  root.append(pick);
  const hide = () => pick.setAttribute("visibility", "hidden");
  onHover(root, (px, py) => {
    const j = Math.floor((px - left) / cell), i = Math.floor((py - top) / high);
    if (i < 0 || i >= names.length || j >= columns.length || px < 0) { hide(); return null; }
    if (j < 0) { hide(); return [names[i]]; }
    fill(pick, { x: left + j * cell, y: top + i * high, visibility: "visible" }, []);
    return tell(i, j);
  }, hide);
  return root;
}

const listed = (rows) => rows.map((row) => nameOf(row.feature, 120));

function drawStrip(width) {
  const rows = S.stability.rows.slice(0, MOST_STRIPS);
  const sizes = S.stability.n_features;
  return cells(width, {
    title: "Share of the folds that choose each feature",
    description: `Features that the folds choose most often: ${rows.length}. Sizes: ${sizes.length}.`,
    names: listed(rows), values: rows.map((row) => row.frequency), columns: sizes.map(whole),
    columnLabel: "number of features", square: false,
    tell: (i, j) => [nameOf(rows[i].feature), `in ${percent(rows[i].frequency[j]) || "an unknown share"} of the folds`, `at ${features(sizes[j])}`],
  });
}

function drawEntries(width) {
  const { rows, sizes } = S.entries;
  return cells(width, {
    title: "Who is in at which size", description: `Features: ${rows.length}. Sizes: ${sizes.length}.`,
    names: listed(rows), values: rows.map((row) => row.present.map((v) => 0.85 * v)), columns: sizes.map(whole),
    columnLabel: "number of features", square: false,
    tell: (i, j) => [nameOf(rows[i].feature), `${rows[i].present[j] ? "in" : "out"} at ${features(sizes[j])}`],
  });
}

function drawRedundancy(width) {
  const { features: places, similarity } = S.redundancy;
  let most = [0, 0, -1];
  similarity.forEach((row, i) => row.forEach((v, j) => { if (j > i && known(v) && v > most[2]) most = [i, j, v]; }));
  const words = most[2] >= 0 ? `Most alike: ${nameOf(places[most[0]], 40)} and ${nameOf(places[most[1]], 40)}, ${most[2].toFixed(2)}.` : "";
  return cells(width, {
    title: byId("redundancy").dataset.label, description: words,
    names: places.map((place, i) => `${i + 1}  ${nameOf(place, 120)}`), values: similarity,
    columns: places.map((_, i) => String(i + 1)), columnLabel: "", square: true,
    tell: (i, j) => [`${nameOf(places[i], 60)} and ${nameOf(places[j], 60)}`, known(similarity[i][j]) ? similarity[i][j].toFixed(2) : "unknown"],
  });
}
