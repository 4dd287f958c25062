// The main curve with its slider: score against size, or size against the parameter.
const current = { place: 0, paper: false, mark: () => {}, spot: () => null };

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
  if (known(size.cost)) lines.push(`cost ${short(size.cost)}`);
  if (size.predictors.length) lines.push(`predictor ${size.predictors.join(", ")}`);
  if (!S.cv && known(size.parameter)) lines.push(`${parameterLabel()} ${short(size.parameter)}`);
  return lines;
}

// -- with scores ---------------------------------------------------------------------------------

// Models on all features, scored on the same folds.
const references = () => (S.references || []).filter((one) => known(one.score)).map((one) => ({ ...one, label: `${one.label}, all ${whole(one.n_features)}` }));

// The range of the curves, and of levels beside them unless these would press the curves flat.
const MOST_STRETCH = 2;
function scoreExtent() {
  const values = [];
  for (const one of [...S.sizes.map((s) => [s.score, s.se]), ...S.baselines.flatMap((b) => b.score.map((v) => [v, 0]))]) {
    if (known(one[0])) values.push(one[0] - (one[1] || 0), one[0] + (one[1] || 0));
  }
  let [low, high] = extent(values) || extent([S.cv.chance, ...references().map((one) => one.score)]) || [0, 1];
  const most = (values.length > 2 && MOST_STRETCH * (high - low)) || Infinity; // one point is no curve
  const errors = references().flatMap((one) => (known(one.se) ? [one.score - one.se, one.score + one.se] : []));
  for (const level of [...references().map((one) => one.score), ...errors, S.cv.chance]) {
    const [lower, higher] = extent([low, high, level]);
    if (higher - lower <= most) [low, high] = [lower, higher];
  }
  const pad = 0.09 * (high - low) || 0.05;
  return [low - pad, high + pad];
}

function drawScores(width) {
  const small = narrow(width);
  const [low, high] = scoreExtent();
  const levels = references().map((one, i) => ({ ...one, color: `c${1 + ((S.baselines.length + i) % 7)}` }));
  const shown = levels.filter((one) => one.score >= low && one.score <= high);
  const named = S.baselines.length + shown.length > 0;
  const longest = Math.max(...[...S.baselines.map((one) => one.name), ...shown.map((one) => one.label), S.method].map((name) => textWidth(cut(name, 40))));
  const margin = small ? 16 : named ? Math.min(260, 32 + longest) : 40;
  const height = tall(small ? 300 : 400);
  const box = { left: 52, right: width - margin, top: 34, bottom: height - 50 };
  const sizes = S.sizes.map((size) => size.n_features);
  const range = extent([...sizes, ...S.baselines.flatMap((b) => b.n_features)]);
  const x = counts(...range, box.left + 10, box.right - 6, small ? 34 : 46, sizes);
  const y = linear(low, high, box.bottom, box.top, 6);
  const root = picture(width, height, "Score against number of features", scoreWords());
  axes(root, box, x, y, "number of features", scoring());
  const xs = sizes.map(x.place);
  const up = (value) => (known(value) ? y.place(value) : null);
  const ys = S.sizes.map((s) => up(s.score));
  const bounds = [-1, 1].map((sign) => S.sizes.map((s) => up(known(s.score) ? s.score + sign * (s.se || 0) : null)));
  const taken = []; // what labels should not cover
  const chance = known(S.cv.chance) && S.cv.chance >= low && S.cv.chance <= high ? up(S.cv.chance) : null;
  if (known(chance)) {
    root.append(svg("line", { class: "dash", x1: box.left, x2: box.right, y1: chance, y2: chance }));
    takeLine(taken, [box.left, box.right], [chance, chance], 6);
  }
  band(root, xs, ...bounds, "c0");
  if (xs.length === 1) takeLine(taken, [xs[0], xs[0]], bounds.flat(), 12);
  for (const edge of bounds) takeLine(taken, xs, edge, 1);
  const ends = S.baselines.flatMap((one, i) => drawBaseline(root, one, `c${1 + (i % 7)}`, x, up, taken));
  shown.forEach((one, i) => ends.push(drawReference(root, one, box, up, taken, box.right - 5 * i)));
  trace(root, xs, ys, "line c0");
  takeLine(taken, xs, ys, 12);
  const last = ys.findLastIndex(known);
  if (named && last >= 0) ends.push({ x: xs[last], y: ys[last], color: "c0", name: S.method });
  if (!small) endLabels(root, ends, box, margin);
  xs.forEach((place, i) => { if (known(ys[i]) && xs.length <= 40) root.append(svg("circle", { class: "dot c0", cx: place, cy: ys[i], r: 3 })); });
  chosenMarks(root, x, y, box, taken);
  if (known(chance)) chanceLabel(root, chance, box, taken);
  follow(root, box, xs, (i) => ys[i]);
  const outside = offScale(levels, low, high);
  return [root, ...(small && named ? [legend(ends)] : []), ...(outside ? [html("p", { class: "note" }, outside)] : [])];
}

// A level across the picture, with its standard error at the right end; returns where its name goes.
function drawReference(root, one, box, up, taken, at) {
  const y = up(one.score);
  root.append(svg("path", { class: `line reference ${one.color}`, d: `M${box.left} ${fixed(y)}H${box.right}` }));
  takeLine(taken, [box.left, box.right], [y, y], 6);
  if (known(one.se)) {
    const [from, to] = [-1, 1].map((sign) => Math.max(box.top, Math.min(box.bottom, up(one.score + sign * one.se))));
    root.append(svg("path", { class: `error ${one.color}`, d: `M${fixed(at)} ${fixed(from)}V${fixed(to)}` }));
  }
  return { x: box.right, y, color: one.color, name: one.label, dashed: true };
}

// Levels that the axis does not reach are said in words.
function offScale(levels, low, high) {
  const all = [...levels.map((one) => [cut(one.label, 60), one.score]), ["chance", S.cv.chance]].filter(([, score]) => known(score));
  const said = (word, found) => (found.length ? `${word} this picture: ${found.map(([name, score]) => `${name} ${scoreText(score)}`).join(", ")}.` : "");
  return [said("Above", all.filter(([, score]) => score > high)), said("Below", all.filter(([, score]) => score < low))].filter(Boolean).join(" ");
}

// Another ranking; returns where its name goes.
function drawBaseline(root, one, color, x, up, taken) {
  const xs = one.n_features.map(x.place), ys = one.score.map(up);
  trace(root, xs, ys, `line thin ${color}`);
  takeLine(taken, xs, ys, 12);
  const last = ys.findLastIndex(known);
  return last >= 0 ? [{ x: xs[last], y: ys[last], color, name: one.name }] : [];
}

// On either side of the line, as far left as there is room.
function chanceLabel(root, place, box, taken) {
  const candidates = [];
  for (let x = box.left + 4; x <= box.right; x += 12) {
    candidates.push({ x, y: place - 7, cost: 0.02 * (x - box.left) }, { x, y: place + 16, cost: 3 + 0.02 * (x - box.left) });
  }
  labelFree(root, `chance ${scoreText(S.cv.chance)}`, candidates, taken, { class: "soft small halo" }, box);
}

function scoreWords() {
  const chosen = S.cv.chosen, best = S.cv.best;
  const names = [...S.baselines.map((one) => one.name), ...references().map((one) => `${one.label} (${scoreText(one.score)})`)];
  const others = names.length ? ` Compared with ${names.join(", ")}.` : "";
  return `Best: ${sizeText(best)}. Chosen: ${sizeText(chosen)}.${others}`;
}

function chosenMarks(root, x, y, box, taken) {
  const { chosen, best } = S.cv;
  const same = chosen.n_features === best.n_features;
  const marks = same ? [[chosen, "chosen and best", 1, "dot"]] : [[best, "best", 1, "ring"], [chosen, "chosen", -1, "dot"]];
  const shown = marks.filter(([one]) => known(one.score)).map(([one, word, side, shape]) => {
    const at = [x.place(one.n_features), y.place(one.score)];
    const r = shape === "dot" ? 7 : 6;
    root.append(svg("circle", { class: shape + " c0", cx: at[0], cy: at[1], r }));
    for (const dx of [-r, 0, r]) for (const dy of [-r, 0, r]) taken.push([at[0] + dx, at[1] + dy, 20]);
    return { at, text: `${word}: ${whole(one.n_features)}`, side };
  });
  for (const { at, text, side } of shown) {
    const half = textWidth(text, letter(), 650) / 2;
    const candidates = [];
    for (const dx of [0, -half / 2, half / 2, -half - 14, half + 14]) {
      for (let dy = 0; dy <= 120; dy += 6) {
        const cost = 0.12 * Math.abs(dx) + 0.25 * dy;
        candidates.push({ x: at[0] + dx, y: at[1] + 4 - dy, cost: cost + (side < 0 ? 4 : 0) }, { x: at[0] + dx, y: at[1] + 4 + dy, cost: cost + (side > 0 ? 4 : 0) });
      }
    }
    labelFree(root, text, candidates, taken, { class: "strong halo" }, box);
  }
}

// -- without scores ------------------------------------------------------------------------------

function countBox(width, height) {
  return { left: 58, right: width - (narrow(width) ? 16 : 40), top: 34, bottom: height - 50 };
}

// Number of features against the parameter, with ticks at the junctures.
function countCurve(root, box, lowest, highest = 0) {
  const x = alongPath(box.left + 6, box.right - 6);
  const n = S.points.n_selected;
  const [low, high] = extent([...n, lowest, highest || n[0]]);
  const few = high <= 50;
  const top = box.top + 24; // above the highest point there is room for its number
  const y = few ? linear(0, Math.max(1, high), box.bottom, top, Math.min(6, Math.max(high, 2))) : counts(lowest < low * 0.6 || low <= 1 ? low : low * 0.6, high, box.bottom, top, 26);
  y.ticks = y.ticks.filter((tick) => Number.isInteger(tick.value) && (few || tick.value > 0)).map((tick) => ({ ...tick, text: whole(tick.value) }));
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
  const height = tall(narrow(width) ? 300 : 380);
  const box = countBox(width, height);
  const root = picture(width, height, "Number of features along the path", S.headline);
  const { x, y } = countCurve(root, box, Math.max(1, S.sizes[0].n_features), S.sizes[S.sizes.length - 1].n_features);
  const n = S.points.n_selected;
  // A size that is visited several times is listed at one of its points.
  const point = (size) => n.findIndex((k, i) => k === size.n_features && S.points.parameter[i] === size.parameter);
  const visit = (size) => { const at = point(size); return at < 0 ? Math.max(0, n.indexOf(size.n_features)) : at; };
  const places = S.sizes.map((size) => (x.parametric && known(size.parameter) ? x.place(size.parameter) : x.at(visit(size))));
  goOn(root, places, y);
  markChance(root, box, y);
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

// Smaller and larger sizes than those of the points are points like them, at the ends of the parameter.
function goOn(root, places, y) {
  const [low, high] = extent(S.points.n_selected);
  for (const [end, beyond] of [[low, (k) => k < low], [high, (k) => k > high]]) {
    const found = S.sizes.map((_, i) => i).filter((i) => beyond(S.sizes[i].n_features));
    if (found.length === 0) continue;
    const heights = extent([end, ...found.map((i) => S.sizes[i].n_features)]).map(y.place);
    root.append(svg("path", { class: "line c0", d: `M${fixed(places[found[0]])} ${fixed(heights[0])}V${fixed(heights[1])}` }));
  }
}

// Beyond as many features as there are discoveries, chance takes over.
function markChance(root, box, y) {
  const n = S.test && byId("main").dataset.together === undefined ? S.test.n_discoveries : 0;
  const at = y.place(n);
  if (n === 0 || at > box.bottom - 2 || at < box.top + 2) return;
  root.append(svg("line", { class: "dash c1", x1: box.left, x2: box.right, y1: at, y2: at }));
  label(root, box.left + 8, at - 6, `above ${whole(n)}, chance takes over`, { class: "soft small halo" });
}

function drawCountOnly(width) {
  const height = tall(narrow(width) ? 280 : 320);
  const box = countBox(width, height);
  const n = S.points.n_selected;
  const { n_features: all, n_constant: fixed = 0, n_identifiers: named = 0 } = S.data || S, usable = all - fixed - named;
  const root = picture(width, height, "Features kept along the path", `From ${whole(n[0])} to ${whole(n[n.length - 1])} of ${features(usable)}.`);
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
  if (!byId("slider")) return;
  table.start(byId("features"));
  byId("slider").addEventListener("input", (event) => setSize(Number(event.target.value)));
  setSize(Number(byId("features").dataset.start), false);
  const node = byId("curve");
  if (!node) return; // a path without selected features has a slider but no curve
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
  chart("curve", S.cv ? drawScores : drawCounts);
}
