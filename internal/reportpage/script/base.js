const $ = id => document.getElementById(id), $$ = (css, e = document) => [...e.querySelectorAll(css)], root = document.documentElement;
const data = JSON.parse($("data")?.textContent || "null");

// The theme follows the system until the button overrides it.
const theme = $("theme"), dark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
const label = () => { theme.textContent = dark() ? "Light" : "Dark"; };
theme.hidden = false;
label();
theme.onclick = () => { root.dataset.theme = dark() ? "light" : "dark"; label(); redraw.forEach(f => f()); };

// Functions that redraw when the theme or the width of the window changes.
const redraw = [];
addEventListener("resize", () => redraw.forEach(f => f()));

// time formats a length as numbers.go does, except that it rounds halves up.
const separated = n => String(n).replace(/\B(?=(\d{3})+$)/g, ",");
const digits = v => v < 9.995 ? v.toFixed(2) : v < 99.95 ? v.toFixed(1) : separated(v.toFixed(0));
function time(ns) {
  const s = Math.floor(ns / 1e9);
  if (ns < 1e3) return Math.round(ns) + " ns";
  if (ns < 1e6) return digits(ns / 1e3) + " µs";
  if (ns < 1e9) return digits(ns / 1e6) + " ms";
  if (s < 600) return digits(ns / 1e9) + " s";
  if (s < 36000) return Math.floor(s / 60) + " min " + s % 60 + " s";
  return separated(Math.floor(s / 3600)) + " h " + Math.floor(s / 60) % 60 + " min";
}
const share = (part, all) => (part / (all || 1) * 100).toFixed(1) + " %";

function make(tag, className, text) {
  const e = document.createElement(tag);
  if (className) e.className = className;
  if (text !== undefined) e.textContent = text;
  return e;
}
function set(e, attributes) {
  for (const k in attributes) e.setAttribute(k, attributes[k]);
  return e;
}
const shape = (tag, attributes) => set(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes);

// toggle makes a button a switch, and returns a function that reports its state.
function toggle(button, changed) {
  const on = () => button.ariaPressed === "true";
  button.onclick = () => { button.ariaPressed = !on(); changed(); };
  return on;
}

// fit shortens a text to a width.
const pen = make("canvas").getContext("2d"), widths = new Map();
pen.font = "12px " + getComputedStyle(document.body).fontFamily;
function fit(text, room) {
  let w = widths.get(text);
  if (w === undefined) widths.set(text, w = pen.measureText(text).width);
  return w <= room ? text : text.slice(0, Math.max(Math.floor(text.length * (room - 9) / w), 1)) + "…";
}

// The tooltip.
const tip = make("div", "tip");
tip.hidden = true;
tip.role = "tooltip";
document.body.append(tip);
function hint(text, e) {
  tip.hidden = !text;
  if (!text) return;
  tip.textContent = text;
  const box = tip.getBoundingClientRect();
  tip.style.left = Math.max(4, Math.min(e.clientX + 12, innerWidth - box.width - 8)) + "px";
  tip.style.top = (e.clientY + box.height + 24 > innerHeight ? e.clientY - box.height - 10 : e.clientY + 16) + "px";
}

// Show buttons select an interval in the timeline of the page or a line in its waterfall. If the page is in a frame beside a
// viewer, as the name of the frame indicates, they also select the interval in the viewer.
const beside = window.parent !== window && window.name === "beside-timeline", chart = data?.chart && timeline(data.chart);
for (const row of $$("[data-at]")) {
  const place = row.dataset.at, [from, dur, at] = place.split(" ").map(Number), line = row.dataset.line, button = make("button", "show", "Show");
  if (!beside && !chart && !line) continue;
  button.title = "Show it in the timeline";
  button.onclick = () => {
    line ? showLine(line - 1, row.closest("section")) : chart?.show(from - data.chart.begin, dur, at - 1);
    if (beside) window.parent.postMessage({weft: place}, "*");
  };
  (row.querySelector(".more") || row.cells[0]).append(button);
}

// A click on a title sorts a table: numbers in descending, texts in ascending order. A second click reverses the order.
for (const table of $$(".rows table")) {
  const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
  for (const [i, th] of heads.entries()) {
    if (body.rows.length < 2 || th.className === "b") continue;
    const button = make("button", "sort", th.textContent);
    button.onclick = () => {
      const first = th.className === "n" ? "descending" : "ascending", up = (th.ariaSort === first) === (first === "descending");
      for (const h of heads) h.ariaSort = null;
      th.ariaSort = up ? "ascending" : "descending";
      const of = row => { const text = row.cells[i].firstChild?.textContent || "", n = parseFloat(text.replace(/,/g, "")); return th.className ? n === n ? n : -Infinity : text; };
      body.append(...[...body.rows].sort((a, b) => (a.className === "last") - (b.className === "last") || (of(a) < of(b) ? -1 : of(a) > of(b)) * (up ? 1 : -1)));
    };
    th.replaceChildren(button);
  }
}

// The list of sections marks the section in view.
const places = $$("nav a");
addEventListener("scroll", () => {
  const at = places.findLast(a => $(a.hash.slice(1)).getBoundingClientRect().top < innerHeight / 3);
  for (const a of places) a.ariaCurrent = a === at ? "true" : null;
}, {passive: true});
if (data?.trees) flameGraphs();
waterfall();
