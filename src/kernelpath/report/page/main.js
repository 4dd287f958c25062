// Start: theme, charts, and drawing again when the page changes.
const root = document.documentElement;
const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : prefersDark.matches);

function startTheme() {
  const button = byId("theme");
  const tell = () => {
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", isDark() ? "Use light colours" : "Use dark colours");
    button.removeAttribute("aria-pressed");
  };
  button.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; tell(); });
  prefersDark.addEventListener("change", tell);
  tell();
}

function startPrint() {
  const PAPER = 688; // pixels of an A4 page between its margins
  let closed = [];
  window.addEventListener("beforeprint", () => {
    closed = Array.from(document.querySelectorAll("details:not([open])"));
    for (const one of closed) one.open = true;
    current.paper = true;
    for (const one of drawn) drawOne(one, one.node.id.startsWith("view-") ? 220 : PAPER);
  });
  window.addEventListener("afterprint", () => {
    current.paper = false;
    for (const one of closed) one.open = false;
    for (const one of drawn) one.width = 0; // the heights change too
    drawAll();
  });
}

startTheme();
startCurve();
chart("weights", drawWeights);
chart("volcano", drawVolcano);
chart("count", drawCountOnly);
chart("stability", drawStability);
chart("strip", drawStrip);
chart("entries", drawEntries);
startViews();
chart("redundancy", drawRedundancy);
chart("certificates", drawCertificates);
drawAll();
startPrint();
new ResizeObserver(() => drawAll()).observe(byId("main"));
// What is folded has no width: it is drawn when it is opened. The event does not bubble.
document.addEventListener("toggle", () => drawAll(), true);
