// The main curve with its slider: score against size, or size against the parameter.
const current = { place: 0, mark: () => {}, spot: () => null };

function setSize(place, announce = true) {
  current.place = Math.max(0, Math.min(S.sizes.length - 1, place));
  const size = S.sizes[current.place];
  const slider = byId("slider");
  slider.value = current.place;
  slider.setAttribute("aria-valuetext", sizeText(size));
  byId("now").textContent = sizeText(size);
  current.mark();
  table.show(size);
  if (announce) byId("live").textContent = sizeText(size);
}

function sizeLines(size) {
  const lines = [features(size.n_features)];
  if (S.cv) lines.push(known(size.score) ? `${scoring()} ${scoreText(size.score)}` : "no score");
  if (known(size.score) && known(size.se)) lines.push(`standard error ${scoreText(size.se)}`);
  if (size.predictors.length) lines.push(`predictor ${size.predictors.join(", ")}`);
  if (!S.cv && known(size.parameter)) lines.push(`${parameterLabel()} ${short(size.parameter)}`);
  return lines;
}

// -- with scores ---------------------------------------------------------------------------------

function scoreExtent() {
  const values = [S.cv.chance];
  for (const one of [...S.sizes.map((s) => [s.score, s.se]), ...S.baselines.flatMap((b) => b.score.map((v) => [v, 0]))]) {
    if (known(one[0])) values.push(one[0] - (one[1] || 0), one[0] + (one[1] || 0));
  }
  const found = extent(values) || [0, 1];
  const pad = 0.09 * (found[1] - found[0]) || 0.05;
  return [found[0] - pad, found[1] + pad];
}

function drawScores(width) {
  const small = narrow(width);
  const margin = S.baselines.length ? (small ? 96 : 150) : (small ? 16 : 40);
  const height = small ? 300 : 400;
  const box = { left: 52, right: width - margin, top: 34, bottom: height - 50 };
  const sizes = S.sizes.map((size) => size.n_features);
  const [low, high] = extent([...sizes, ...S.baselines.flatMap((b) => b.n_features)]);
  const x = counts(low, high, box.left + 10, box.right - 6, small ? 34 : 46);
  const y = linear(...scoreExtent(), box.bottom, box.top, 6);
  const root = picture(width, height, "Score against number of features", scoreWords());
  axes(root, box, x, y, "number of features", scoring());
  if (known(S.cv.chance)) {
    const place = y.place(S.cv.chance);
    root.append(svg("line", { class: "dash", x1: box.left, x2: box.right, y1: place, y2: place }));
    label(root, box.left + 8, place - 6, `chance ${scoreText(S.cv.chance)}`, { class: "soft small halo" });
  }
  const xs = sizes.map(x.place);
  const up = (value) => (known(value) ? y.place(value) : null);
  band(root, xs, S.sizes.map((s) => up(known(s.score) ? s.score - (s.se || 0) : null)), S.sizes.map((s) => up(known(s.score) ? s.score + (s.se || 0) : null)), "c0");
  const ends = [];
  S.baselines.forEach((one, i) => {
    const color = `c${1 + (i % 7)}`;
    const ys = one.score.map(up);
    trace(root, one.n_features.map(x.place), ys, `line thin ${color}`);
    const last = ys.findLastIndex(known);
    if (last >= 0) ends.push({ x: x.place(one.n_features[last]), y: ys[last], color, name: one.name.replaceAll("_", " ") });
  });
  const ys = S.sizes.map((s) => up(s.score));
  trace(root, xs, ys, "line c0");
  const last = ys.findLastIndex(known);
  if (S.baselines.length && last >= 0) ends.push({ x: xs[last], y: ys[last], color: "c0", name: "this path" });
  endLabels(root, ends, box, margin);
  xs.forEach((place, i) => { if (known(ys[i]) && xs.length <= 40) root.append(svg("circle", { class: "dot c0", cx: place, cy: ys[i], r: 3 })); });
  chosenMarks(root, x, y, box);
  follow(root, box, xs, (i) => ys[i]);
  return root;
}

function scoreWords() {
  const chosen = S.cv.chosen, best = S.cv.best;
  const others = S.baselines.length ? ` Compared with ${S.baselines.map((b) => b.name).join(", ")}.` : "";
  return `Best: ${sizeText(best)}. Chosen: ${sizeText(chosen)}.${others}`;
}

function chosenMarks(root, x, y, box) {
  const { chosen, best } = S.cv;
  const same = chosen.n_features === best.n_features;
  const mark = (one, text, above, shape) => {
    if (!known(one.score)) return;
    const place = x.place(one.n_features);
    const at = y.place(one.score);
    const reach = Math.abs(y.place(one.score + (one.se || 0)) - at);
    root.append(svg("circle", { class: shape + " c0", cx: place, cy: at, r: shape === "dot" ? 7 : 6 }));
    const wide = text.length * 3.9;
    const middle = Math.max(box.left + wide, Math.min(place, box.right - wide));
    const high = Math.max(box.top + 2, at - reach - 10), deep = Math.min(box.bottom - 6, at + reach + 20);
    label(root, middle, above ? high : deep, text, { class: "strong halo", "text-anchor": "middle" });
  };
  if (same) mark(chosen, `chosen and best: ${whole(chosen.n_features)}`, true, "dot");
  else {
    mark(best, `best: ${whole(best.n_features)}`, true, "ring");
    mark(chosen, `chosen: ${whole(chosen.n_features)}`, false, "dot");
  }
}

// -- without scores ------------------------------------------------------------------------------

function countBox(width, height) {
  return { left: 58, right: width - (narrow(width) ? 16 : 40), top: 34, bottom: height - 50 };
}

// Number of features against the parameter, with ticks at the junctures.
function countCurve(root, box, lowest) {
  const x = alongPath(box.left + 6, box.right - 6);
  const n = S.points.n_selected;
  const [low, high] = extent([...n, lowest]);
  const few = high <= 50;
  const y = few ? linear(0, Math.max(1, high) * 1.1, box.bottom, box.top, Math.min(6, Math.max(high, 2))) : counts(lowest < low * 0.6 || low <= 1 ? low : low * 0.6, high * 1.5, box.bottom, box.top, 26);
  y.ticks = y.ticks.filter((tick) => Number.isInteger(tick.value));
  axes(root, box, x, y, x.label, "selected features");
  let xs = n.map((_, i) => x.at(i)), ys = n.map(y.place);
  const j = S.junctures;
  const all = j.parameter.length > 0 && j.parameter.length === j.n_total && j.parameter.every(known);
  if (x.parametric && all) {
    const last = n.length - 1;
    xs = [x.at(0), ...j.parameter.map(x.place), x.at(last)];
    ys = [y.place(n[0]), ...j.n_selected.map(y.place), y.place(n[last])];
  }
  if (xs.length > 1) {
    let d = `M${fixed(xs[0])} ${box.bottom}V${fixed(ys[0])}`;
    xs.slice(1).forEach((place, i) => { d += `H${fixed(place)}V${fixed(ys[i + 1])}`; });
    root.append(svg("path", { class: "area c0", d: `${d}V${box.bottom}Z` }));
  }
  trace(root, xs, ys, "line c0", true);
  if (x.parametric) {
    let d = "";
    for (const value of j.parameter) if (known(value)) d += `M${fixed(x.place(value))} ${box.bottom - 7}V${box.bottom}`;
    if (d) root.append(svg("path", { class: "tick", d }));
  }
  ends(root, n, x, y, box);
  return { x, y };
}

function ends(root, n, x, y, box) {
  const last = n.length - 1;
  const over = (k) => Math.max(box.top + 4, y.place(k) - 9);
  const under = (k) => Math.min(box.bottom - 12, y.place(k) + 20);
  label(root, x.at(0) + (last > 0 ? 4 : 12), over(n[0]), whole(n[0]), { class: "strong halo" });
  if (last > 0) {
    const at = n[last] < n[0] ? under(n[last]) : over(n[last]);
    label(root, x.at(last) - 14, at, whole(n[last]), { class: "strong halo", "text-anchor": "end" });
  }
}

function drawCounts(width) {
  const height = narrow(width) ? 300 : 380;
  const box = countBox(width, height);
  const root = picture(width, height, "Number of features along the path", S.headline);
  const { x, y } = countCurve(root, box, Math.max(1, S.sizes[0].n_features));
  const n = S.points.n_selected;
  const places = S.sizes.map((size) => (x.parametric && known(size.parameter) ? x.place(size.parameter) : x.at(Math.max(0, n.indexOf(size.n_features)))));
  follow(root, box, places, (i) => y.place(S.sizes[i].n_features), (px, py) => {
    let best = 0, least = Infinity;
    places.forEach((place, i) => {
      const away = Math.hypot(place - px, y.place(S.sizes[i].n_features) - py);
      if (away < least) { least = away; best = i; }
    });
    return best;
  });
  return root;
}

function drawCountOnly(width) {
  const height = narrow(width) ? 280 : 320;
  const box = countBox(width, height);
  const n = S.points.n_selected;
  const root = picture(width, height, "Features kept along the path", `From ${whole(n[0])} to ${whole(n[n.length - 1])} of ${whole(S.n_features)} features.`);
  const { x } = countCurve(root, box, n[0]);
  const xs = n.map((_, i) => x.at(i));
  onHover(root, (px) => {
    const i = nearest(xs, px);
    return [features(n[i]), `${parameterLabel()} ${short(S.points.parameter[i])}`];
  });
  return root;
}

// -- pointer and keys ----------------------------------------------------------------------------

function follow(root, box, xs, height, find = (px) => nearest(xs, px)) {
  const cursor = svg("line", { class: "cursor", y1: box.top, y2: box.bottom });
  const ring = svg("circle", { class: "now", r: 9 });
  root.insertBefore(cursor, root.children[2]); // below all labels
  root.append(ring);
  current.mark = () => {
    const i = current.place, y = height(i);
    cursor.setAttribute("x1", xs[i]);
    cursor.setAttribute("x2", xs[i]);
    ring.setAttribute("visibility", known(y) ? "visible" : "hidden");
    if (known(y)) { ring.setAttribute("cx", xs[i]); ring.setAttribute("cy", y); }
  };
  current.spot = () => [xs[current.place], height(current.place) ?? box.top, root];
  current.mark();
  onHover(root, (px, py) => sizeLines(S.sizes[find(px, py)]));
  root.addEventListener("click", (event) => {
    const frame = root.getBoundingClientRect();
    const scale = root.viewBox.baseVal.width / frame.width;
    setSize(find((event.clientX - frame.left) * scale, (event.clientY - frame.top) * scale));
  });
}

function tipAtSize() {
  const [x, y, root] = current.spot();
  const frame = root.getBoundingClientRect();
  const scale = frame.width / root.viewBox.baseVal.width;
  showTip(sizeLines(S.sizes[current.place]), frame.left + window.scrollX + x * scale, frame.top + window.scrollY + y * scale);
}

const STEPS = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 5, PageDown: -5, Home: -Infinity, End: Infinity };
function startCurve() {
  const node = byId("curve");
  if (!node) return;
  table.start(byId("features"));
  node.tabIndex = 0;
  fill(node, { role: "group", "aria-label": node.dataset.label }, []);
  node.addEventListener("keydown", (event) => {
    if (!(event.key in STEPS)) return;
    event.preventDefault();
    setSize(current.place + STEPS[event.key]);
    tipAtSize();
  });
  node.addEventListener("focus", () => { if (node.matches(":focus-visible")) tipAtSize(); });
  node.addEventListener("blur", hideTip);
  byId("slider").addEventListener("input", (event) => setSize(Number(event.target.value)));
  setSize(Number(byId("features").dataset.start), false);
  chart("curve", S.cv ? drawScores : drawCounts);
}
