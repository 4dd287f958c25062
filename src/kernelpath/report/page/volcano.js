// Which features are real: alignment against p, the discoveries in colour.
const ORDER = 10; // powers of ten from which p-values are an order: there a factor of ten is as high as six powers
const shownHeight = (h) => (h <= ORDER ? h : ORDER + 6 * Math.log10(h / ORDER));

function probability(log10) {
  if (log10 < -ORDER) return "< 1e−10";
  const p = 10 ** log10;
  return p < 0.001 ? minus(p.toExponential(1)) : String(Number(p.toPrecision(2)));
}

function drawVolcano(width) {
  const small = narrow(width);
  const height = tall(small ? 320 : 380);
  const { alignment, log10_p, found } = S.test.points;
  const box = { left: 44, right: width - (small ? 12 : 90), top: 34, bottom: height - 50 };
  const heights = log10_p.map((v) => shownHeight(Math.max(-v, 0)));
  const top = Math.max(...heights, 1.5), right = Math.max(...alignment) || 1;
  const root_ = right > 30 ? Math.sqrt : (v) => v;
  const scale = linear(0, right * 1.04, box.left, box.right, small ? 4 : 8);
  const place = (v) => box.left + (root_(v) / root_(right * 1.04)) * (box.right - box.left);
  const values = right > 30 ? [0, 1, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000].filter((v) => v <= right) : scale.ticks.map((tick) => tick.value);
  const x = { place, ticks: spaced(values.map((value) => ({ value, place: place(value), text: whole(value) === short(value) ? whole(value) : short(value) })), small ? 44 : 52) };
  const y = linear(0, top * 1.06, box.bottom, box.top, 6);
  const every = Math.min(top, ORDER) > 6 ? 2 : 1;
  y.ticks = Array.from({ length: Math.floor(Math.min(top, ORDER) / every) + 1 }, (_, i) => ({ value: i * every, place: y.place(i * every), text: String(i * every) }));
  for (const h of [20, 50, 100, 200, 500]) if (shownHeight(h) <= top) y.ticks.push({ value: h, place: y.place(shownHeight(h)), text: String(h) });
  const words = `${S.test.n_discoveries} of ${S.test.n_tested} features are discoveries.`;
  const root = picture(width, height, "Alignment and p-value of the features", words);
  if (top > ORDER) root.append(svg("rect", { class: "frame", x: box.left, y: box.top, width: box.right - box.left, height: y.place(ORDER) - box.top }));
  axes(root, box, x, y, "alignment", "−log₁₀ p");
  if (top > ORDER) label(root, box.left + 8, box.top + 16, small ? "an order" : "an order, no probability", { class: "axis small" });
  const xs = alignment.map(place), ys = heights.map(y.place);
  const big = found.length <= 60; // single points are to be seen
  for (const which of [0, 1]) {
    found.forEach((one, i) => {
      if (one === which) root.append(svg("circle", { class: one ? "dot c0" : big ? "dot other single" : "dot other", cx: fixed(xs[i]), cy: fixed(ys[i]), r: one ? (big ? 5.5 : 4.5) : big ? 4 : 2 }));
    });
  }
  names(root, box, xs, ys, S.test.features.filter((_, i) => found[i]), width);
  onHover(root, (px, py) => {
    let best = -1, least = 400;
    xs.forEach((at, i) => { const d = (at - px) ** 2 + (ys[i] - py) ** 2; if (d < least) { least = d; best = i; } });
    if (best < 0) return null;
    const listedName = best < S.test.features.length ? nameOf(S.test.features[best], 60) : "a feature";
    return [listedName, `alignment ${short(alignment[best])}`, `p ${probability(log10_p[best])}`];
  });
  return root;
}

// Ticks that do not touch.
function spaced(ticks, room) {
  const kept = [];
  for (const tick of ticks) if (kept.length === 0 || tick.place - kept[kept.length - 1].place >= room) kept.push(tick);
  return kept;
}

// Names of the first features beside their dots, where nothing else is.
function names(root, box, xs, ys, places, width) {
  const size = letter(), taken = xs.map((x, i) => [x - 4, x + 4, ys[i] - 4, ys[i] + 4]);
  taken.push([box.left, box.left + (narrow(width) ? 70 : 160), box.top, box.top + 24]); // the words on what is above
  const free = (one) => taken.every((other) => one[1] < other[0] || one[0] > other[1] || one[3] < other[2] || one[2] > other[3]);
  places.slice(0, 12).forEach((place, i) => {
    const text = fit(fullName(place), 130, size);
    const long = ruler.measureText(text).width;
    for (const right of [true, false]) {
      const from = right ? xs[i] + 9 : xs[i] - 9 - long;
      const one = [from, from + long, ys[i] - size / 2, ys[i] + size / 2];
      if (from < box.left + 4 || from + long > width - 2 || !free(one)) continue;
      taken.push(one);
      label(root, from, ys[i] + 4.5, text, {}, fullName(place));
      return;
    }
  });
}
