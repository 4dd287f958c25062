// Small things for all charts: the data, elements, words and the tip.
const S = JSON.parse(document.getElementById("summary").textContent);
const byId = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg"; // a name, nothing is loaded

// -- elements: text is always set as text, never as markup ---------------------------------------

function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value !== null && value !== undefined) node.setAttribute(key, value);
  }
  for (const child of children) node.append(child);
  return node;
}
const html = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) =>
  fill(document.createElementNS(SVG, tag), attributes, children);

function picture(width, height, title, description) {
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" });
  root.append(svg("title", {}, title), svg("desc", {}, description));
  root.setAttribute("aria-label", `${title}. ${description}`);
  return root;
}

// -- words ---------------------------------------------------------------------------------------

const known = (value) => value !== null && value !== undefined;
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;
const written = (control) => "\\x" + control.charCodeAt(0).toString(16).padStart(2, "0");
const visible = (text) => String(text).replace(CONTROLS, written);

function cut(text, longest) {
  const letters = Array.from(visible(text).replace(/\s+/g, " ").trim());
  if (letters.length === 0) return "(no name)";
  return letters.length <= longest ? letters.join("") : letters.slice(0, longest - 1).join("") + "…";
}
// A name as text that may go on in the next line after a sign between its words, or where a capital begins one.
const BREAKS = /(?<=[_/.:-])(?=[^_/.:-])(?!(?<=\d[.:])\d)|(?<=\p{Ll})(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u;
function breakable(text) {
  return text.split(BREAKS).flatMap((part, i) => (i ? [html("wbr"), part] : [part]));
}
const fullName = (place) => S.features[place].name;
const nameOf = (place, longest = 80) => cut(fullName(place), longest);
const whole = (n) => n.toLocaleString("en-GB");
const features = (n) => `${whole(n)} feature${n === 1 ? "" : "s"}`;
const minus = (text) => text.replace("-", "−");

function scoreText(value) {
  if (!known(value)) return "no score";
  return minus(Math.abs(value) < 100 ? value.toFixed(3) : value.toPrecision(5));
}
function sizeText(size) {
  if (!known(size.score)) return S.cv ? `${features(size.n_features)}: no score` : features(size.n_features);
  const spread = known(size.se) ? ` ± ${scoreText(size.se)}` : "";
  const cost = known(size.cost) ? `, cost ${short(size.cost)}` : "";
  return `${features(size.n_features)}: ${scoreText(size.score)}${spread}${cost}`;
}
function short(value) {
  if (!known(value)) return "unknown";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-3) return minus(value.toExponential(1).replace("e+", "e").replace("e-", "e−"));
  return minus(String(Number(value.toPrecision(4))));
}
const percent = (value) => (known(value) ? `${Math.round(100 * value)} %` : "");
const parameterLabel = () => (S.parameter_name === "p" ? "norm exponent p" : S.parameter_name);
const scoring = () => byId("curve").dataset.measure;

// -- the tip -------------------------------------------------------------------------------------

const tip = byId("tip");
function showTip(lines, pageX, pageY) {
  tip.replaceChildren(...lines.map((line) => html("div", { dir: "auto" }, ...breakable(line))));
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  const left = window.scrollX + 6;
  const right = window.scrollX + document.documentElement.clientWidth - width - 6;
  const above = pageY - height - 14;
  tip.style.left = `${Math.max(left, Math.min(pageX + 14, right))}px`;
  tip.style.top = `${above > window.scrollY ? above : pageY + 18}px`;
}
const hideTip = () => { tip.hidden = true; };

// Calls follow(x, y) in the units of the picture, and shows the lines that it returns.
function onHover(root, follow, leave = () => {}) {
  const move = (event) => {
    const box = root.getBoundingClientRect();
    const scale = root.viewBox.baseVal.width / box.width;
    const lines = follow((event.clientX - box.left) * scale, (event.clientY - box.top) * scale);
    if (lines) showTip(lines, event.pageX, event.pageY);
    else hideTip();
  };
  root.addEventListener("pointermove", move);
  root.addEventListener("pointerdown", move);
  root.addEventListener("pointerleave", () => { hideTip(); leave(); });
}
window.addEventListener("keydown", (event) => { if (event.key === "Escape") hideTip(); });

// -- drawing again when the width changes --------------------------------------------------------

const drawn = []; // { node, draw, width }
function chart(id, draw) {
  const node = byId(id);
  if (!node) return;
  drawn.push({ node, draw, width: 0 });
}
function drawOne(one, width) {
  one.width = width;
  try {
    one.node.replaceChildren(...[one.draw(width, one.node)].flat());
  } catch (error) {
    one.node.replaceChildren(html("p", { class: "note" }, "This picture could not be drawn."));
    console.error(error);
  }
}
function drawAll(forced) {
  for (const one of drawn) {
    const width = forced || Math.round(one.node.clientWidth);
    if (width > 0 && width !== one.width) drawOne(one, width);
  }
}
