// Free places for labels: a place is charged for the lines that its text would cover.
// What is taken is a list of [x, y, weight], points every few pixels along what is drawn.
function takeLine(taken, xs, ys, weight) {
  let last = null;
  ys.forEach((y, i) => {
    if (!known(y) || !known(xs[i])) { last = null; return; }
    const [fromX, fromY] = last || [xs[i], y];
    const steps = Math.max(1, Math.ceil(Math.hypot(xs[i] - fromX, y - fromY) / 4));
    for (let s = 1; s <= steps; s++) taken.push([fromX + ((xs[i] - fromX) * s) / steps, fromY + ((y - fromY) * s) / steps, weight]);
    last = [xs[i], y];
  });
}

function textWidth(text, size = letter(), weight = 400) {
  ruler.font = `${weight} ${size}px ${getComputedStyle(document.body).fontFamily}`;
  return ruler.measureText(text).width;
}

// Writes a text, in the middle of its place, where it covers least and then is cheapest.
function labelFree(root, text, candidates, taken, attributes, box) {
  const small = attributes.class.includes("small"), strong = attributes.class.includes("strong");
  const half = textWidth(text, small ? smallLetter() : letter(), strong ? 650 : 400) / 2 + 3;
  let best = null;
  for (const { x, y, cost } of candidates) {
    const middle = Math.max(box.left + half, Math.min(x, box.right - half));
    const baseline = Math.max(box.top + 8, Math.min(y, box.bottom - 5));
    let total = cost + Math.abs(middle - x) + 2 * Math.abs(baseline - y);
    for (const [px, py, weight] of taken) {
      if (Math.abs(px - middle) < half && py > baseline - 13 && py < baseline + 6) total += weight;
    }
    if (best === null || total < best.total) best = { middle, baseline, total };
  }
  for (let dx = -half; dx <= half; dx += 4) for (const dy of [-9, -3, 3]) taken.push([best.middle + dx, best.baseline + dy, 30]);
  return label(root, best.middle, best.baseline, text, { ...attributes, "text-anchor": "middle" });
}
