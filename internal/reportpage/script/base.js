const $ = id => document.getElementById(id), root = document.documentElement, NS = "http://www.w3.org/2000/svg";
const data = JSON.parse($("data")?.textContent || "null");
root.dataset.scripted = "";

// Colours: as the system has them, until the button says otherwise.
const theme = $("theme"), dark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
const label = () => { theme.textContent = dark() ? "Light" : "Dark"; };
theme.hidden = false;
label();
theme.onclick = () => { root.dataset.theme = dark() ? "light" : "dark"; label(); redraw.forEach(f => f()); };

// What draws in colours, or to the width of the window.
const redraw = [];
addEventListener("resize", () => redraw.forEach(f => f()));

// time writes a length as numbers.go does, except that it rounds halves up.
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
function shape(tag, attributes) {
  const e = document.createElementNS(NS, tag);
  for (const k in attributes) e.setAttribute(k, attributes[k]);
  return e;
}

// fit shortens a text to a width.
const pen = make("canvas").getContext("2d"), widths = new Map();
pen.font = "12px " + getComputedStyle(document.body).fontFamily;
function fit(text, room) {
  let w = widths.get(text);
  if (w === undefined) widths.set(text, w = pen.measureText(text).width);
  return w <= room ? text : text.slice(0, Math.max(Math.floor(text.length * (room - 9) / w), 1)) + "…";
}

// A line about what the pointer is on.
const tip = make("div", "tip");
tip.hidden = true;
tip.setAttribute("role", "tooltip");
document.body.append(tip);
function hint(text, e) {
  tip.hidden = !text;
  if (!text) return;
  tip.textContent = text;
  const box = tip.getBoundingClientRect();
  tip.style.left = Math.max(4, Math.min(e.clientX + 12, innerWidth - box.width - 8)) + "px";
  tip.style.top = (e.clientY + box.height + 24 > innerHeight ? e.clientY - box.height - 10 : e.clientY + 16) + "px";
}

// Rows can be shown in the timeline of the page, and beside a viewer in that, too, if it can. Other pages with a report in a frame have none,
// and do not name the frame.
const beside = window.parent !== window && window.name === "beside-timeline", chart = data?.chart && timeline(data.chart);
if (beside || chart) {
  for (const row of document.querySelectorAll("[data-at]")) {
    const [from, dur, at] = row.dataset.at.split(" ").map(Number), button = make("button", "show", "Show");
    button.type = "button";
    button.title = "Show it in the timeline";
    button.onclick = () => {
      chart?.show(from - data.chart.begin, dur, at - 1);
      if (beside) window.parent.postMessage({weft: row.dataset.at}, "*");
    };
    (row.querySelector(".more") || row.cells[0]).append(button);
  }
}
if (data?.trees) flameGraphs();
waterfall();
