// Axes, lines and labels that all charts share.
function axes(root, box, x, y, xLabel, yLabel) {
  for (const tick of y.ticks) {
    root.append(
      svg("line", { class: "grid", x1: box.left, x2: box.right, y1: tick.place, y2: tick.place }),
      svg("text", { class: "axis small", x: box.left - 8, y: tick.place + 4, "text-anchor": "end" }, tick.text),
    );
  }
  root.append(svg("line", { class: "base", x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom }));
  for (const tick of x.ticks) {
    root.append(
      svg("line", { class: "base", x1: tick.place, x2: tick.place, y1: box.bottom, y2: box.bottom + 5 }),
      svg("text", { class: "axis small", x: tick.place, y: box.bottom + 19, "text-anchor": "middle" }, tick.text),
    );
  }
  root.append(svg("text", { class: "axis", x: (box.left + box.right) / 2, y: box.bottom + 40, "text-anchor": "middle" }, xLabel));
  if (yLabel) root.append(svg("text", { class: "axis", x: 0, y: box.top - 12 }, yLabel));
}

const fixed = (value) => value.toFixed(1);

// A line through known places; a gap where y is unknown, a dot where a point stands alone.
function trace(root, xs, ys, classes, step = false) {
  let run = [];
  const finish = () => {
    if (run.length === 1) {
      root.append(svg("circle", { class: classes.replace("line", "dot"), cx: run[0][0], cy: run[0][1], r: 3.5 }));
    } else if (run.length > 1) {
      let d = "";
      run.forEach(([x, y], i) => {
        if (step && i > 0) d += `H${fixed(x)}V${fixed(y)}`;
        else d += `${i ? "L" : "M"}${fixed(x)} ${fixed(y)}`;
      });
      root.append(svg("path", { class: classes, d }));
    }
    run = [];
  };
  ys.forEach((y, i) => { if (known(y) && known(xs[i])) run.push([xs[i], y]); else finish(); });
  finish();
}

function band(root, xs, lows, highs, classes) {
  const kept = xs.map((_, i) => i).filter((i) => known(lows[i]) && known(highs[i]));
  if (kept.length < 2) {
    for (const i of kept) root.append(svg("line", { class: "error " + classes, x1: xs[i], x2: xs[i], y1: lows[i], y2: highs[i] }));
    return;
  }
  const up = kept.map((i) => `${fixed(xs[i])} ${fixed(highs[i])}`);
  const down = kept.slice().reverse().map((i) => `${fixed(xs[i])} ${fixed(lows[i])}`);
  root.append(svg("path", { class: "band " + classes, d: `M${up.join("L")}L${down.join("L")}Z` }));
}

function label(root, x, y, text, attributes = {}, full = null) {
  const node = svg("text", { x, y, ...attributes }, text);
  if (full !== null && full !== text) node.append(svg("title", {}, full));
  root.append(node);
  return node;
}

// Names under the picture, where there is no room beside it.
function legend(ends) {
  return html("div", { class: "legend" }, ...ends.map(({ color, name, dashed }) =>
    html("span", {}, html("i", { class: dashed ? `${color} dashed` : color }), html("bdi", { dir: "auto", title: visible(name) }, ...breakable(cut(name, 80))))));
}

// Names right of the plot, each with a dash of its colour. A line that reaches the right edge is
// joined to its dash; for one that ends earlier nothing is drawn that could be taken for data.
function endLabels(root, ends, box, room) {
  const places = spread(ends.map((end) => end.y), letter() + 4, box.top + 2, box.bottom - 4);
  const right = box.right;
  ends.forEach(({ x, y, color, name, joined = x > right - 10 }, i) => {
    const at = places[i];
    if (joined) root.append(svg("path", { class: `leader ${color}`, d: `M${fixed(right + 1)} ${fixed(y)}L${fixed(right + 10)} ${fixed(at)}` }));
    root.append(svg("path", { class: `key ${color}`, d: `M${fixed(right + 10)} ${fixed(at)}H${fixed(right + 18)}` }));
    label(root, right + 22, at + 4, fit(name, room - 24), {}, name);
  });
}

const narrow = (width) => width < 560;
// Charts are less high on paper, so that more of them share a page.
const tall = (height) => (current.paper ? Math.round(0.8 * height) : height);

// Sizes of letters, as in page.css.
const phone = window.matchMedia("(max-width: 560px)");
const letter = () => (phone.matches ? 14 : 13);
const smallLetter = () => (phone.matches ? 13 : 12);

// The name cut so that it takes no more than so many pixels.
const ruler = document.createElement("canvas").getContext("2d");
function fit(text, pixels, size = letter()) {
  ruler.font = `${size}px ${getComputedStyle(document.body).fontFamily}`;
  const count = Array.from(text).length;
  if (ruler.measureText(cut(text, count + 1)).width <= pixels) return cut(text, count + 1);
  let low = 2, high = Math.min(count, 200);
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (ruler.measureText(cut(text, middle)).width <= pixels) low = middle;
    else high = middle - 1;
  }
  return cut(text, low);
}
