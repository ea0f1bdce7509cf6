// timeline draws the slices between from and to, which the user selects in the strip. Both are nanoseconds since the start of the
// timeline.
function timeline(c) {
  const LINE = 15, HEAD = 18, AXIS = 20, kinds = c.kinds.length, strip = $("strip"), box = $("flames"), canvas = $("canvas"), g = canvas.getContext("2d");
  let from = 0, to = c.length, at = null, over = null, palette = {}, pending = 0, tops = [];

  const rows = c.rows.map((r, row) => {
    const open = [];
    let start = 0, told = 0, step = 0;
    const slices = r.s.map((delta, i) => {
      start += delta;
      const depth = Math.floor(r.p[i] / kinds), end = start + r.d[i], around = open[depth - 1];
      const s = {row, depth, from: start * c.unit, to: end * c.unit, id: r.n[i], name: data.names[r.n[i]], kind: r.p[i] % kinds, cpu: -1};
      s.up = around && around.to >= s.to ? around : null;
      return open[depth] = s;
    });
    for (let i = 0; i < r.c.length; i += 2) slices[told += r.c[i]].cpu = r.c[i + 1] / 100;
    const short = [];
    for (let i = 0; i < r.b.length; i += 3) short.push({from: (step += r.b[i]) * c.step, kind: r.b[i + 1], part: r.b[i + 2] / 1000});
    // Levels below the first ones, which contain 99 % of the time, are shown on request.
    const inDepth = new Array(r.depths + 1).fill(0);
    for (const s of slices) inDepth[s.depth] += s.to - s.from;
    const all = inDepth.reduce((a, b) => a + b, 0);
    let shown = r.depths;
    for (let left = all / 100; shown > 4 && (left -= inDepth[shown - 1]) > 0;) shown--;
    return {name: r.name, all: Math.max(r.depths, 1), depths: Math.max(Math.min(shown, 14), 1), slices, short};
  });

  // The strip is the plot for browsers without scripts, but lower and with only the first threads.
  const LANES = Math.min(rows.length, 6), LANE = 16, HEIGHT = 32 + LANES * (LANE + 3);
  const plot = document.querySelector("svg.busy").cloneNode(true), names = make("div", "threads");
  for (const e of $$("[id]:not(pattern)", plot)) e.remove();
  plot.removeAttribute("aria-labelledby");
  set(plot, {height: HEIGHT, "aria-label": "Overview"});
  $$("svg.lane", plot).forEach((lane, i) => {
    if (i >= LANES) return lane.remove();
    set(lane, {y: 32 + i * (LANE + 3), height: LANE});
    for (const e of $$(".area, .marks", lane)) set(e, {y: 0, height: e.classList[0] === "area" ? LANE : 2});
    const [name, busy] = $$("text", lane);
    names.append(make("div", "", name.textContent.split("  ")[0]));
    name.remove();
    busy.remove();
  });
  const shades = [0, 1].map(() => shape("rect", {class: "shade", y: 18, height: HEIGHT})), brush = shape("rect", {class: "brush", y: 19, height: HEIGHT - 20});
  plot.append(...shades, brush);
  strip.append(names, plot);
  root.dataset.timeline = "";
  $("chart").hidden = false;

  const [unit, suffix] = c.start + c.length < 1e9 ? [1e6, " ms"] : [1e9, " s"];
  const clamp = (v, a, b) => Math.max(a, Math.min(v, b)), LEAST = Math.max(c.unit, c.length / 1e6), all = () => to - from >= c.length;
  function view(a, b) {
    const span = clamp(b - a, Math.min(LEAST, c.length), c.length);
    from = clamp(a, 0, c.length - span);
    to = from + span;
    remember();
    redrawSoon();
  }
  const zoom = (factor, x = 0.5) => { const t = from + (to - from) * x, span = (to - from) * factor; view(t - span * x, t + span * (1 - x)); };
  const seconds = ns => +(ns / 1e9).toFixed(9) + "s";
  let later;
  function remember() {
    clearTimeout(later);
    later = setTimeout(() => {
      try {
        history.replaceState(null, "", all() ? location.pathname + location.search : "#t=" + seconds(c.start + from) + "+" + seconds(to - from) + (at ? "&row=" + (at.row + 1) : ""));
      // A page in a frame has no address.
      } catch {}
    }, 150);
  }

  // show selects an interval and a slice in it on a row. start is relative to the start of the recording.
  function show(start, length, row, exact) {
    const a = start - c.start, margin = exact ? 0 : length * 0.2 || c.length / 200, inside = rows[row]?.slices.filter(s => s.from < a + length + c.unit && s.to > a) || [];
    at = inside.find(s => s.from >= a - c.unit && s.to <= a + length + c.unit) || inside[0] || null;
    view(a - margin, a + length + margin);
    draw();
    if (rows[row]) box.scrollTop = tops[row] - AXIS;
    $("chart").scrollIntoView();
  }
  function followAddress() {
    const m = /^#t=([\d.]+)s\+([\d.]+)s(?:&row=(\d+))?$/.exec(location.hash);
    if (m) show(m[1] * 1e9, m[2] * 1e9, m[3] - 1, true);
  }

  // ticks are multiples of 1, 2 or 5 times a power of ten.
  function ticks() {
    let step = 1, list = [];
    const most = Math.max(2, Math.floor(canvas.clientWidth / 110));
    for (let i = 0; (to - from) / step >= most; i++) step *= [2, 2.5, 2][i % 3];
    const places = Math.max(0, Math.ceil(Math.log10(unit / step) - 1e-9));
    for (let t = Math.ceil((c.start + from) / step) * step; t <= c.start + to; t += step) list.push([t - c.start, (t / unit).toFixed(places) + suffix]);
    return list;
  }

  const deeper = $("deeper"), isDeep = toggle(deeper, () => draw()), levels = r => r.empty ? 1 : isDeep() ? r.all : r.depths, hidden = Math.max(...rows.map(r => r.all - r.depths));
  deeper.hidden = hidden === 0;
  deeper.textContent = "Deeper (+" + hidden + ")";

  function redrawSoon() { pending ||= requestAnimationFrame(() => { pending = 0; draw(); }); }

  function colours() {
    const style = getComputedStyle(root), get = n => style.getPropertyValue("--" + n);
    palette = {fg: get("fg"), soft: get("soft"), line: get("line"), bg: get("bg"), ground: get("ground")};
    palette.kinds = c.kinds.map(k => {
      const fill = get(k), [r, gr, b] = [1, 3, 5].map(i => parseInt(fill.slice(i, i + 2), 16)), light = 0.3 * r + 0.59 * gr + 0.11 * b > 140, hollow = k === "waits";
      return hollow ? {fill: palette.ground, text: palette.fg, hollow} : {fill, text: light ? "#111" : "#fff", hatched: k === "gc"};
    });
  }

  function draw() {
    colours();
    const width = canvas.clientWidth, scale = devicePixelRatio || 1, perNano = width / (to - from), X = t => (t - from) * perNano;
    let y = AXIS;
    tops = rows.map(r => {
      const top = y;
      r.empty = !r.slices.some(s => s.from < to && s.to > from);
      y += HEAD + levels(r) * LINE + 6;
      return top;
    });
    const height = y;
    box.parentNode.classList.toggle("low", height < 240);
    canvas.width = width * scale;
    canvas.height = height * scale;
    g.setTransform(scale, 0, 0, scale, 0, 0);
    g.font = pen.font.replace("12px", "11px");
    g.textBaseline = "middle";
    g.fillStyle = palette.line;
    const marks = ticks();
    for (const [t] of marks) g.fillRect(Math.round(X(t)), AXIS, 1, height);
    rows.forEach((r, i) => {
      const top = tops[i] + HEAD, last = [], end = [];
      g.fillStyle = palette.fg;
      g.fillText(fit(r.name, width - 8), 2, tops[i] + HEAD / 2 + 1);
      g.globalAlpha = 0.65;
      for (const s of r.short) {
        if (s.from > to || s.from + c.step < from) continue;
        g.fillStyle = palette.kinds[s.kind].fill;
        const h = Math.max(s.part * (LINE - 1), 1);
        g.fillRect(X(s.from), top + LINE - 1 - h, Math.max(c.step * perNano, 1), h);
      }
      g.globalAlpha = 1;
      for (const s of r.slices) {
        if (s.from > to || s.to < from || s.depth >= levels(r)) continue;
        const x = Math.max(X(s.from), 0), w = Math.min(X(s.to), width) - x, colour = palette.kinds[s.kind], line = top + s.depth * LINE;
        if (w < 0.5 && end[s.depth] >= x && last[s.depth] === s.kind) continue;
        last[s.depth] = s.kind;
        end[s.depth] = x + Math.max(w, 0.7);
        g.fillStyle = colour.fill;
        g.fillRect(x, line, Math.max(w - (w > 3 ? 0.7 : 0), 0.7), LINE - 1);
        if (colour.hatched && w > 2) hatch(x, line, w);
        const known = s === at || s === over;
        if (known || colour.hollow) {
          g.strokeStyle = known ? palette.fg : palette.soft;
          g.lineWidth = s === at ? 2 : 1;
          g.strokeRect(x + 0.5, line + 0.5, Math.max(w - 1.5, 1), LINE - 2);
        }
        if (w > 26) {
          g.fillStyle = colour.text;
          g.fillText(fit(s.name, w - 6), x + 3, line + LINE / 2);
        }
      }
    });
    g.fillStyle = palette.soft;
    for (const [t, text] of marks) g.fillText(text, clamp(X(t) + 3, 0, width - g.measureText(text).width), AXIS / 2);
    const a = from / c.length * 100, b = to / c.length * 100, move = (e, x, w) => set(e, {x: x + "%", width: w + "%"});
    move(shades[0], 0, a);
    move(shades[1], b, 100 - b);
    move(brush, a, b - a);
    inside();
  }

  function hatch(x, y, w) {
    g.save();
    g.beginPath();
    g.rect(x, y, w, LINE - 1);
    g.clip();
    g.strokeStyle = palette.bg;
    g.globalAlpha = 0.5;
    g.lineWidth = 1;
    g.beginPath();
    for (let i = x - LINE; i < x + w; i += 4) { g.moveTo(i, y + LINE); g.lineTo(i + LINE, y); }
    g.stroke();
    g.restore();
  }

  // inside totals the selection: self times by kind, and times including the slices inside by name.
  function inside() {
    const times = new Array(kinds).fill(0), names = new Map();
    let cpu = 0, of = 0, busy = 0;
    for (const r of rows) {
      for (const s of r.slices) {
        const part = Math.min(s.to, to) - Math.max(s.from, from);
        if (part <= 0) continue;
        times[s.kind] += part;
        if (s.up) times[s.up.kind] -= part;
        else if (c.kinds[s.kind] !== "waits") busy += part;
        if (s.cpu >= 0) { cpu += s.cpu * part; of += part; }
        const n = names.get(s.name);
        if (n) { n.time += part; n.count++; } else names.set(s.name, {time: part, count: 1});
      }
      for (const s of r.short) {
        const part = (Math.min(s.from + c.step, to) - Math.max(s.from, from)) * s.part;
        if (part > 0) { times[s.kind] += part; busy += part; }
      }
    }
    $("range").textContent = moment(from) + " – " + moment(to) + " (" + time(to - from) + ")";
    const list = make("ul", "legend");
    list.append(...times.map((t, i) => [t, i]).filter(([t]) => t > (to - from) / 1000).sort((a, b) => b[0] - a[0]).map(([t, i]) => {
      const li = make("li");
      li.append(make("span", "key " + c.kinds[i]), c.titles[i] + " " + time(t));
      return li;
    }));
    const lead = make("p", "note", of > busy / 10 ? "On a CPU for " + share(cpu, of) + " of this time." : busy ? "Busy for " + time(busy) + " in these rows." : "Nothing ran.");
    $("by-kind").replaceChildren(list, lead);
    $("inside").replaceChildren(...[...names].sort((a, b) => b[1].time - a[1].time || (a[0] < b[0] ? -1 : 1)).slice(0, 14).map(([name, n]) => {
      const tr = make("tr"), th = make("th", "", name);
      th.scope = "row";
      th.title = name;
      tr.append(th, make("td", "n", time(n.time)), make("td", "n", separated(n.count)));
      return tr;
    }));
  }
  const moment = t => ((c.start + t) / unit).toFixed(3) + suffix;

  // find returns the slice under the pointer.
  function find(e) {
    const r = canvas.getBoundingClientRect(), y = e.clientY - r.top, t = from + (e.clientX - r.left) / r.width * (to - from), near = (to - from) / r.width;
    const i = tops.findLastIndex(top => top <= y), depth = i < 0 ? -1 : Math.floor((y - tops[i] - HEAD) / LINE);
    return depth < 0 || depth >= levels(rows[i]) ? null : rows[i].slices.find(s => s.depth === depth && s.from <= t && s.to > t) || rows[i].slices.find(s => s.depth === depth && s.from - near <= t && s.to + near > t) || null;
  }
  const about = s => s.name + "\n" + time(s.to - s.from) + " at " + moment(s.from) + " · " + c.titles[s.kind] + (s.cpu < 0 ? "" : "\non a CPU for " + Math.round(s.cpu * 100) + " %");

  const between = (a, b) => view(Math.min(a, b), Math.max(a, b)), place = e => { const r = plot.getBoundingClientRect(); return clamp((e.clientX - r.left) / r.width, 0, 1) * c.length; };
  drag(plot, e => {
    const t = place(e), edge = c.length * 8 / plot.getBoundingClientRect().width, span = to - from, a = from, b = to;
    if (!all() && Math.abs(t - a) < edge) return n => between(place(n), b);
    if (!all() && Math.abs(t - b) < edge) return n => between(a, place(n));
    if (!all() && t > a && t < b) return n => { const d = place(n) - t; view(a + d, a + d + span); };
    return n => between(t, place(n));
  }, e => { const t = place(e), span = all() ? c.length / 10 : to - from; view(t - span / 2, t + span / 2); });
  drag(canvas, e => {
    const a = from, span = to - from;
    return n => { const d = (e.clientX - n.clientX) / canvas.clientWidth * span; view(a + d, a + d + span); };
  }, e => { at = find(e); remember(); draw(); });
  canvas.ondblclick = e => { const s = find(e); if (s) { at = s; view(s.from, s.to); } };
  canvas.addEventListener("pointermove", e => {
    if (e.buttons) return hint("");
    const s = find(e);
    hint(s && about(s), e);
    if (s !== over) { over = s; redrawSoon(); }
  });
  canvas.onpointerleave = () => { over = null; hint(""); redrawSoon(); };
  canvas.addEventListener("wheel", e => {
    const r = canvas.getBoundingClientRect(), d = (to - from) * e.deltaX / r.width;
    if (e.ctrlKey || e.metaKey) zoom(Math.exp(clamp(e.deltaY, -50, 50) / 100), (e.clientX - r.left) / r.width);
    else if (Math.abs(e.deltaX) > Math.abs(e.deltaY)) view(from + d, to + d);
    else return;
    e.preventDefault();
  }, {passive: false});

  const keys = {
    ArrowLeft: () => view(from - (to - from) / 5, from + (to - from) * 4 / 5), ArrowRight: () => view(from + (to - from) / 5, to + (to - from) / 5),
    "+": () => zoom(0.5), "-": () => zoom(2), Escape: () => { at = null; view(0, c.length); },
  };
  keys["="] = keys["+"];
  $("chart").onkeydown = e => {
    const act = keys[e.key];
    if (!act || e.ctrlKey || e.metaKey || e.altKey) return;
    act();
    e.preventDefault();
  };
  $("zoom-in").onclick = keys["+"];
  $("zoom-out").onclick = keys["-"];
  $("zoom-all").onclick = keys.Escape;
  redraw.push(draw);
  addEventListener("hashchange", followAddress);
  draw();
  followAddress();
  return {show, rows};
}

// drag calls its first argument when the pointer goes down, the function that it returns when it moves, and click if it did not move.
function drag(e, begin, click) {
  e.onpointerdown = down => {
    if (down.button) return;
    const move = begin(down);
    let moved = false;
    e.setPointerCapture(down.pointerId);
    e.onpointermove = n => { if (moved ||= Math.abs(n.clientX - down.clientX) > 3) move(n); };
    e.onpointerup = e.onpointercancel = up => {
      e.onpointermove = e.onpointerup = e.onpointercancel = null;
      if (!moved && up.type === "pointerup") click(up);
    };
  };
}
