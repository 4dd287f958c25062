// The table of the features at the current size: sorted, filtered, downloaded, copied.
const FIRST_ROWS = 50;
const table = {
  body: null, rows: [], key: "rank", down: false, filter: "", all: false, size: null,

  start(node) {
    this.body = node.tBodies[0];
    for (const th of node.tHead.rows[0].cells) {
      const button = html("button", { type: "button" }, th.textContent);
      button.addEventListener("click", () => this.sortBy(th.dataset.key));
      th.replaceChildren(button);
    }
    this.heads = Array.from(node.tHead.rows[0].cells);
    byId("filter").addEventListener("input", (event) => {
      this.filter = event.target.value;
      this.draw();
    });
    byId("all").addEventListener("click", () => { this.all = true; this.draw(); });
    byId("download").addEventListener("click", () => download(`features-${this.size.n_features}.csv`, csv(this.rows)));
    byId("copy").addEventListener("click", () => copy(this.rows.map((row) => fullName(row.place))));
  },

  sortBy(key) {
    this.down = key === this.key ? !this.down : key === "weight" || key === "share";
    this.key = key;
    this.draw();
  },

  show(size) {
    this.size = size;
    this.rows = size.features.map((place, i) => ({
      place, rank: i + 1, name: fullName(place), weight: size.weights[i],
      share: size.frequency ? size.frequency[i] : null,
    }));
    byId("table-size").textContent = size.n_features === 1 ? "one feature" : features(size.n_features);
    byId("copied").textContent = "";
    this.draw();
  },

  has(key) { return this.heads.some((head) => head.dataset.key === key); },

  ordered() {
    const { key } = this;
    const filter = this.filter.toLocaleLowerCase();
    const sign = this.down ? -1 : 1;
    const rows = this.rows.filter((row) => !filter || row.name.toLocaleLowerCase().includes(filter));
    return rows.sort((a, b) => {
      if (key === "name") return sign * a.name.localeCompare(b.name, "en", { numeric: true }) || a.rank - b.rank;
      return sign * ((a[key] ?? -Infinity) - (b[key] ?? -Infinity)) || a.rank - b.rank;
    });
  },

  draw() {
    for (const th of this.heads) {
      if (th.dataset.key === this.key) th.setAttribute("aria-sort", this.down ? "descending" : "ascending");
      else th.removeAttribute("aria-sort");
    }
    const rows = this.ordered();
    const shown = this.all ? rows : rows.slice(0, FIRST_ROWS);
    const top = Math.max(...this.rows.map((row) => row.weight || 0), 0);
    const none = this.rows.length > 0 && rows.length === 0 ? [this.noMatch()] : [];
    this.body.replaceChildren(...shown.map((row) => this.line(row, top)), ...none);
    byId("all").hidden = shown.length === rows.length;
    byId("all").textContent = `Show all ${whole(rows.length)}`;
    byId("table-note").textContent = this.note();
  },

  noMatch() {
    const words = ["No name contains “", html("bdi", { dir: "auto" }, cut(this.filter, 40)), "”."];
    return html("tr", {}, html("td", { colspan: this.heads.length, class: "none" }, ...words));
  },

  line(row, top) {
    const name = html("bdi", { class: "name", dir: "auto", title: visible(row.name) }, ...breakable(cut(row.name, 80)));
    const fill = html("i", {});
    fill.style.width = top > 0 ? `${Math.max(0, (100 * (row.weight || 0)) / top)}%` : "0";
    const bar = html("span", { class: "meter", "aria-hidden": "true" }, fill);
    const weight = html("div", { class: "weight" }, html("span", {}, short(row.weight)), bar);
    const line = html("tr", {}, html("td", { class: "num" }, whole(row.rank)), html("th", { scope: "row" }, name));
    if (this.has("weight")) line.append(html("td", {}, weight));
    if (this.has("share")) line.append(html("td", { class: "num" }, percent(row.share)));
    return line;
  },

  note() {
    const notes = [];
    if (this.size.n_features === 0) notes.push("No feature is in at this size.");
    else if (this.rows.length === 0) notes.push("The whole path does not hold this size; only folds do.");
    if (this.size.n_hidden > 0) {
      notes.push(`This page lists the ${whole(this.rows.length)} heaviest of them; path.at(n_features=${this.size.n_features}).names gives all.`);
    }
    return notes.join(" ");
  },
};

// A cell that a spreadsheet would take for a formula becomes text.
function csvCell(value) {
  const text = String(value ?? "");
  const safe = /^[=+\-@\t\r]/.test(text) ? "'" + text : text;
  return /[",\r\n\t']/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
function csv(rows) {
  const shares = rows.some((row) => known(row.share));
  const lines = [["rank", "name", "column", "weight"].concat(shares ? ["share_of_folds"] : []).join(",")];
  for (const row of rows) {
    const cells = [row.rank, csvCell(row.name), S.features[row.place].index, row.weight ?? ""];
    lines.push(cells.concat(shares ? [row.share ?? ""] : []).join(","));
  }
  return lines.join("\r\n") + "\r\n";
}
function download(name, text) {
  const address = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
  const link = html("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}
async function copy(names) {
  const text = names.map((name) => name.replace(/[\r\n]+/g, " ")).join("\n");
  let done = true;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = html("textarea", { class: "sr-only" });
    area.value = text;
    document.body.append(area);
    area.select();
    done = document.execCommand("copy");
    area.remove();
  }
  byId("copied").textContent = done ? `${whole(names.length)} copied` : "The browser did not allow it";
}
