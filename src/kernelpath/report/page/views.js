// One small picture per feature: rows as dots with the curve of its kernel, or means by category.
const VIEW_HEIGHT = 190;

// The same little shift for the same row, so that dots at 0 and 1 do not hide each other.
const shift = (i) => ((i * 0.6180339887) % 1) - 0.5;

function viewBox(width) { return { left: 44, right: width - 8, top: 12, bottom: VIEW_HEIGHT - 26 }; }

function viewDescription(view) {
  const kind = view.kind === "numeric" ? "a curve over the values" : "means by category";
  return `${view.outcome === "share" ? "Class shares" : "Target"}: ${kind}.`;
}

function smallAxes(root, box, x, y) {
  for (const tick of y.ticks) {
    root.append(svg("line", { class: "grid", x1: box.left, x2: box.right, y1: tick.place, y2: tick.place }));
    label(root, box.left - 6, tick.place + 4, tick.text, { class: "axis small", "text-anchor": "end" });
  }
  for (const tick of x.ticks) label(root, tick.place, box.bottom + 18, tick.text, { class: "axis small", "text-anchor": "middle" });
}

// A feature of few values has its ticks there.
const FEW_LEVELS = 5;
function levelTicks(values, x) {
  const levels = [...new Set(values)].sort((a, b) => a - b);
  const ticks = levels.map((value) => ({ value, place: x.place(value), text: short(value) }));
  const apart = ticks.every((tick, i) => i === 0 || tick.place - ticks[i - 1].place >= textWidth(tick.text, smallLetter()) + 10);
  return levels.length > 1 && levels.length <= FEW_LEVELS && apart ? ticks : x.ticks;
}

function drawNumeric(view, width) {
  const box = viewBox(width);
  const share = view.outcome === "share";
  const root = picture(width, VIEW_HEIGHT, nameOf(view.feature), viewDescription(view));
  const [low, high] = extent(view.grid) || [0, 1];
  const scale = view.dates ? calendar : linear;
  const x = scale(low, high, box.left + 4, box.right - 4, Math.max(3, Math.floor((box.right - box.left) / (view.dates ? 90 : 70))));
  if (!view.dates) x.ticks = levelTicks(view.points.x.filter((v) => known(v) && v >= low && v <= high), x);
  const many = view.classes.length > 1;
  const range = share ? [0, 1] : extent([...view.points.y.flat(), ...view.curves.flat()]) || [0, 1];
  const strip = share && many ? 14 : 0;
  const inner = share ? { top: box.top + 8, bottom: box.bottom - 8 - strip } : { top: box.top, bottom: box.bottom - 4 };
  const y = linear(range[0], range[1], inner.bottom, inner.top, share ? 2 : 4);
  if (share) y.ticks = y.ticks.map((tick) => ({ ...tick, text: percent(tick.value) }));
  smallAxes(root, box, x, y);
  view.points.x.forEach((value, i) => {
    if (!known(value) || value < low || value > high) return;
    const group = many ? view.points.y.findIndex((row) => row[i] === 1) : 0;
    const level = view.points.y[Math.max(group, 0)][i];
    if (!known(level)) return;
    let at = y.place(level);
    if (share && many) at = box.bottom - 4 + shift(i) * 12;
    else if (share) at += shift(i) * 13;
    root.append(svg("circle", { class: `speck ${group >= 0 ? `c${group}` : ""}`, cx: fixed(x.place(value)), cy: fixed(at), r: 2.1 }));
  });
  view.curves.forEach((row, c) => {
    trace(root, view.grid.map((v) => (known(v) ? x.place(v) : null)), row.map((v) => (known(v) ? y.place(v) : null)), `line c${many ? c : 1}`);
  });
  const xs = view.grid.map((v) => (known(v) ? x.place(v) : -1e9));
  onHover(root, (px) => {
    const i = nearest(xs, px);
    const tell = (v) => (!known(v) ? "no rows nearby" : share ? percent(v) : short(v));
    const lines = view.curves.map((row, c) => (share ? `${cut(view.classes[c] ?? "", 30)}: ${tell(row[i])}` : `target ${tell(row[i])}`));
    return [nameOf(view.feature, 60), `at ${view.dates ? dateText(view.grid[i]) : short(view.grid[i])}`, ...lines];
  });
  return root;
}

function drawCategorical(view, width) {
  const rows = view.categories.length;
  const left = Math.min(0.42 * width, 10 + Math.max(...view.categories.map((c) => textWidth(cut(c, 40), smallLetter())), 20));
  const room = 10 + Math.max(...view.counts.map((n) => textWidth(whole(n), smallLetter())));
  const box = { left, right: width - room - 10, top: 12, bottom: VIEW_HEIGHT - 26 };
  const share = view.outcome === "share";
  const root = picture(width, VIEW_HEIGHT, nameOf(view.feature), viewDescription(view));
  const found = extent(view.means.flat()) || [0, 1];
  const pad = 0.12 * (found[1] - found[0]) || 0.5;
  const x = share ? linear(0, 1, box.left, box.right, 2) : linear(found[0] - pad, found[1] + pad, box.left, box.right, Math.floor((box.right - box.left) / 50));
  for (const tick of x.ticks) {
    root.append(svg("line", { class: "grid", x1: tick.place, x2: tick.place, y1: box.top, y2: box.bottom }));
    label(root, tick.place, box.bottom + 18, share ? percent(tick.value) : tick.text, { class: "axis small", "text-anchor": "middle" });
  }
  const tall = Math.min(30, (box.bottom - box.top) / Math.max(rows, 1));
  view.categories.forEach((category, i) => {
    const top = box.top + i * tall, middle = top + tall / 2;
    label(root, left - 7, middle + 4, fit(category, left - 7, smallLetter()), { class: "small", "text-anchor": "end" }, category);
    label(root, width, middle + 4, whole(view.counts[i]), { class: "axis small", "text-anchor": "end" });
    let from = 0;
    view.means.forEach((row, c) => {
      if (!known(row[i])) return;
      if (!share) { root.append(svg("circle", { class: "dot c1", cx: x.place(row[i]), cy: middle, r: 5 })); return; }
      const start = x.place(from), end = x.place(Math.min(1, from + row[i]));
      root.append(svg("rect", { class: `bar c${view.classes.length > 1 ? c : 1}`, x: fixed(start), y: top + tall * 0.18, width: fixed(Math.max(0, end - start)), height: tall * 0.64 }));
      from += row[i];
    });
  });
  onHover(root, (px, py) => {
    const i = Math.floor((py - box.top) / tall);
    if (i < 0 || i >= rows) return view.n_hidden ? [view.n_hidden === 1 ? "1 rarer category is not shown" : `${whole(view.n_hidden)} rarer categories are not shown`] : null;
    const lines = view.means.map((row, c) => (share ? `${cut(view.classes[c] ?? "", 30)}: ${percent(row[i])}` : `mean ${short(row[i])}`));
    const n = view.counts[i];
    return [cut(view.categories[i], 60), ...lines, `${whole(n)} row${n === 1 ? "" : "s"}`];
  });
  return root;
}

function startViews() {
  const grid = byId("views");
  if (!grid) return;
  const classes = S.views[0].classes;
  if (classes.length > 1) {
    byId("view-legend").append(...classes.map((name, c) =>
      html("span", {}, html("i", { class: `c${c}` }), html("bdi", { dir: "auto", title: visible(name) }, cut(name, 40)))));
  }
  S.views.forEach((view, i) => {
    const id = `view-${i}`;
    const caption = html("figcaption", { title: visible(fullName(view.feature)) }, html("bdi", { dir: "auto" }, nameOf(view.feature)));
    grid.append(html("figure", {}, caption, html("div", { id })));
    chart(id, (width) => (view.kind === "numeric" ? drawNumeric(view, width) : drawCategorical(view, width)));
  });
}
