// Weights, stability index and certificates: lines along the path or over the sizes.
function drawWeights(width) {
  const small = narrow(width);
  const margin = small ? 16 : 190;
  const height = tall(small ? 320 : 420);
  const box = { left: 52, right: width - margin, top: 34, bottom: height - 50 };
  const { named, others } = S.weights;
  const x = alongPath(box.left + 4, box.right);
  const parts = S.parameter_name === "sum of weights"; // weights grow with their sum in any case
  const size = (v, i) => (parts && known(v) ? v / S.points.parameter[i] : v);
  const top = extent([...[...named, ...others].flatMap((one) => one.weights.map(size)), 0])[1] || 1;
  const y = linear(0, top * 1.04, box.bottom, box.top, 6);
  const list = named.map((one) => nameOf(one.feature, 40)).join(", ");
  const root = picture(width, height, "Weights along the path", `Named lines: ${list}.`);
  axes(root, box, x, y, x.label, parts ? "share of the sum of weights" : "weight");
  const xs = S.points.parameter.map((_, i) => x.at(i));
  const positive = (row) => row.map((v, i) => (known(v) && v > 0 ? y.place(size(v, i)) : null));
  markTurns(root, box, xs);
  const grey = others.map((one) => ({ feature: one.feature, ys: positive(one.weights), weights: one.weights }));
  for (const one of grey) trace(root, xs, one.ys, "line other");
  const groups = [], found = [];
  named.forEach((one, i) => {
    const group = svg("g", {});
    const ys = positive(one.weights);
    trace(group, xs, ys, `line c${i % 8}`);
    root.append(group);
    groups.push(group);
    const last = ys.findLastIndex(known);
    // A weight that falls to 0 has its name at the foot, in the order in which features stay.
    const stays = last === ys.length - 1;
    if (last >= 0) found.push({ x: xs[last], y: stays ? ys[last] : box.bottom, joined: stays, color: `c${i % 8}`, name: fullName(one.feature), ys });
  });
  if (!small) endLabels(root, found, box, margin);
  const cursor = svg("line", { class: "cursor", y1: box.top, y2: box.bottom, visibility: "hidden" });
  const bright = svg("g", {});
  root.append(bright, cursor);
  // The grey line under the pointer, if no named one is nearer.
  const greyAt = (at, py) => {
    const near = (one) => (known(one.ys[at]) ? Math.abs(one.ys[at] - py) : Infinity);
    const best = grey.reduce((a, b) => (near(b) < near(a) ? b : a), { ys: [] });
    const rivals = found.map((one) => Math.abs((one.ys[at] ?? Infinity) - py));
    return near(best) <= Math.min(8, ...rivals) ? best : null;
  };
  onHover(root, (px, py) => {
    const at = nearest(xs, px);
    const other = greyAt(at, py);
    bright.replaceChildren();
    if (other) trace(bright, xs, other.ys, "line other bright");
    fill(cursor, { x1: xs[at], x2: xs[at], visibility: "visible" }, []);
    const shown = other ? [...named, other] : named;
    const rows = shown.map((one) => [one.weights[at] || 0, one.feature]).sort((a, b) => b[0] - a[0]);
    return [`${parameterLabel()} ${short(S.points.parameter[at])}`, ...rows.map(([w, place]) => `${nameOf(place, 40)}: ${short(w)}`)];
  }, () => { cursor.setAttribute("visibility", "hidden"); bright.replaceChildren(); });
  return small ? [root, legend(found)] : root;
}

// Where the parameter turns, the picture goes on: a line says so.
function markTurns(root, box, xs) {
  const found = turns();
  found.forEach((i, k) => {
    root.append(svg("path", { class: "dash", d: `M${fixed(xs[i])} ${box.top}V${box.bottom}` }));
    const room = (found[k + 1] === undefined ? box.right : xs[found[k + 1]]) - xs[i];
    const falls = S.points.parameter[i] > S.points.parameter[i + 1];
    const text = `${parameterLabel()} ${falls ? "falls" : "grows"}`;
    if (room > 30) label(root, xs[i] + 4, box.top + 10, fit(text, room - 8, smallLetter()), { class: "axis small" });
  });
}

function drawStability(width) {
  const height = tall(narrow(width) ? 250 : 280);
  const box = { left: 52, right: width - 20, top: 34, bottom: height - 50 };
  const { n_features: sizes, index, low, high } = S.stability;
  const range = extent(sizes);
  const bottom = Math.min(0, ...[...index, ...low].filter(known));
  const x = counts(range[0], range[1], box.left + 10, box.right - 6, 46, sizes);
  const y = linear(Math.max(bottom, -1), 1, box.bottom, box.top, 5);
  const root = picture(width, height, "Stability index against number of features", "1 means the same features in every fold, 0 no more agreement than chance.");
  axes(root, box, x, y, "number of features", "stability index");
  const xs = sizes.map(x.place);
  const up = (value) => (known(value) ? y.place(Math.max(-1, Math.min(1, value))) : null);
  band(root, xs, low.map(up), high.map(up), "c2");
  trace(root, xs, index.map(up), "line c2");
  onHover(root, (px) => {
    const i = nearest(xs, px);
    const lines = [features(sizes[i]), `index ${known(index[i]) ? index[i].toFixed(2) : "unknown"}`];
    if (known(low[i]) && known(high[i])) lines.push(minus(`from ${low[i].toFixed(2)} to ${high[i].toFixed(2)}`));
    return lines;
  });
  return root;
}

function drawCertificates(width) {
  const small = narrow(width);
  const margin = small ? 66 : 80;
  const height = tall(small ? 280 : 320);
  const { kkt, gap } = S.points;
  const zero = [...kkt, ...gap].includes(0);
  const box = { left: 70, right: width - margin, top: 34, bottom: height - 50 };
  const floor = box.bottom - 12; // 0 has no logarithm: zeros are dots below the scale
  const x = alongPath(box.left + 4, box.right);
  const range = extent([...kkt, ...gap].filter((v) => known(v) && v > 0)) || [1e-16, 1e-15];
  const y = powers(Math.max(range[0], 1e-18), Math.max(range[1], 1e-17), zero ? box.bottom - 40 : box.bottom, box.top, 26);
  const worst = (values) => { const found = extent(values); return found ? short(found[1]) : "unknown"; };
  const root = picture(width, height, "KKT residual and gap along the path", `Largest KKT residual ${worst(kkt)}; largest gap ${worst(gap)}.`);
  axes(root, box, x, y, x.label, gap.some(known) ? "distance from the optimum" : "residual");
  const xs = kkt.map((_, i) => x.at(i));
  if (zero) label(root, box.left - 8, floor + 4, "exactly 0", { class: "axis small", "text-anchor": "end" });
  const found = [];
  [["KKT", kkt, "c0"], ["gap", gap, "c1"]].forEach(([name, values, color], k) => {
    const ys = values.map((v) => (known(v) && v > 0 ? y.place(v) : null));
    trace(root, xs, ys, `line ${color}`);
    const at = floor - 3 + 6 * k;
    values.forEach((v, i) => { if (v === 0) root.append(svg("circle", { class: `dot zero ${color}`, cx: fixed(xs[i]), cy: at, r: 2.5 })); });
    const last = values.findLastIndex(known);
    if (last >= 0) found.push({ x: xs[last], y: ys[last] ?? at, color, name });
  });
  endLabels(root, found, box, margin);
  onHover(root, (px) => {
    const i = nearest(xs, px);
    return [`${parameterLabel()} ${short(S.points.parameter[i])}`, `KKT ${short(kkt[i])}`, `gap ${short(gap[i])}`];
  });
  return root;
}
