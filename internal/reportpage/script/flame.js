// Flame graphs: a box is [name, place, depth, start, total, self, kind].
function flameGraphs() {
  const ROW = 18, pick = $("flame-thread"), search = $("flame-search"), deeper = $("flame-deeper"), mode = $("flame-mode");
  const graphs = data.trees.map((tree, i) => {
    const thread = $("flame-" + i), box = thread.querySelector(".flame"), g = {tree, thread, box, svg: box.querySelector("svg"), live: thread.querySelector(".live")};
    box.role = "application";
    g.svg.onclick = e => { const i = e.target.dataset.i; if (i) { select(g, +i); zoom(g, +i); } };
    g.svg.onpointermove = e => { const i = e.target.dataset.i; if (i) say(g, +i); hint(i && g.live.textContent, e); };
    g.svg.onpointerleave = () => hint("");
    box.onkeydown = e => key(g, e);
    return g;
  });

  // arrange creates the boxes for the mode.
  function arrange(g) {
    if (g.mode === mode.value) return;
    g.mode = mode.value;
    g.boxes = g.mode === "up" ? inverted(g.tree) : g.mode === "time" ? inTime(g.tree) : g.tree.boxes;
    g.from = 0;
    g.span = g.total = (g.mode === "time" ? data.chart.length : g.tree.total) || 1;
    g.rows = g.boxes.reduce((n, b) => Math.max(n, b[2] + 1), 1);
    g.at = g.was = -1;
    g.marked = null;
    g.rects = g.boxes.map((b, i) => {
      const r = shape("rect", {y: b[2] * ROW, height: ROW - 1, class: (g.tree.kinds[b[6]] || "other") + " t" + b[0] % 3});
      r.dataset.i = i;
      return r;
    });
    g.labels = shape("g");
    g.svg.replaceChildren(...g.rects, g.labels);
  }

  // inverted returns the bottom-up tree: callers are below their functions, and the functions with the most self time
  // come first.
  function inverted(tree) {
    const top = {kids: new Map(), total: 0}, open = [], boxes = [];
    for (const b of tree.boxes) {
      open[b[2]] = b;
      for (let at = top, depth = b[2]; b[5] && depth >= 0; depth--) {
        const o = open[depth], id = o[0] + " " + o[1];
        if (!at.kids.has(id)) at.kids.set(id, {o, total: 0, kids: new Map()});
        at = at.kids.get(id);
        at.total += b[5];
      }
    }
    (function place(node, depth, start) {
      for (const k of [...node.kids.values()].sort((a, b) => b.total - a.total)) {
        const o = k.o, box = [o[0], o[1], depth, start, k.total, k.total, o[6]];
        for (const kid of k.kids.values()) box[5] -= kid.total;
        boxes.push(box);
        place(k, depth + 1, start);
        start += k.total;
      }
    })(top, 0, 0);
    return boxes;
  }

  // inTime returns the calls in the timeline, in the colours of the tree.
  function inTime(tree) {
    const kinds = new Map(tree.boxes.map(b => [b[0], b[6]])), boxes = new Map();
    for (const s of chart.rows[tree.row - 1].slices) {
      boxes.set(s, [s.id, -1, s.depth, s.from, s.to - s.from, s.to - s.from, kinds.get(s.id)]);
      if (s.up) boxes.get(s.up)[5] -= s.to - s.from;
    }
    return [...boxes.values()];
  }

  function draw(g) {
    arrange(g);
    const width = g.svg.clientWidth || 1000, labels = [], near = level(g), rows = isDeep() ? g.rows : near;
    deeper.hidden = near === g.rows;
    deeper.textContent = "Deeper (+" + (g.rows - near) + ")";
    set(g.svg, {height: rows * ROW});
    g.boxes.forEach((b, i) => {
      const r = g.rects[i], x = Math.max((b[3] - g.from) / g.span, 0) * width, w = Math.min((b[3] + b[4] - g.from) / g.span, 1) * width - x;
      r.setAttribute("width", w < 0.3 ? 0 : w.toFixed(1));
      if (w < 0.3) return;
      r.setAttribute("x", x.toFixed(1));
      if (w > 32) {
        const t = shape("text", {x: (x + 3).toFixed(1), y: b[2] * ROW + 13});
        t.textContent = fit(data.names[b[0]], w - 6);
        labels.push(t);
      }
    });
    g.labels.replaceChildren(...labels);
    mark(g);
  }

  const inView = (g, b) => b[3] < g.from + g.span && b[3] + b[4] > g.from;

  // level returns the number of rows that contain 99 % of the time in view.
  function level(g) {
    const itself = new Array(g.rows).fill(0);
    for (const b of g.boxes) if (inView(g, b)) itself[b[2]] += b[5];
    let left = itself.reduce((a, b) => a + b, 0) / 100, rows = g.rows;
    while (rows > 1 && (left -= itself[rows - 1]) > 0) rows--;
    return rows;
  }

  function mark(g) {
    if (g.marked !== g.hits) g.rects.forEach((r, i) => r.classList.toggle("out", !!g.hits && !g.hits.has(data.names[g.boxes[i][0]])));
    g.marked = g.hits;
    g.rects[g.was]?.classList.remove("at");
    g.rects[g.was = g.at]?.classList.add("at");
  }

  function say(g, i) {
    const b = g.boxes[i], place = data.places[b[1]];
    g.live.textContent = data.names[b[0]] + ": " + time(b[4]) + ", " + share(b[4], g.total) + (g.mode === "up" ? "" : " (itself " + time(b[5]) + ")") + (place ? " – " + place : "");
  }

  const select = (g, i) => { g.at = i; say(g, i); mark(g); };

  function zoom(g, i) {
    const b = g.boxes[i];
    g.from = b ? b[3] : 0;
    g.span = b && b[4] || g.total;
    draw(g);
  }

  function key(g, e) {
    const b = g.boxes[g.at], find = (depth, test) => g.boxes.findIndex(o => o[2] === depth && inView(g, o) && test(o));
    let i = -1;
    if (!b && /^Arrow/.test(e.key)) i = 0;
    else if (e.key === "ArrowDown") i = find(b[2] + 1, o => o[3] >= b[3] && o[3] < b[3] + b[4]);
    else if (e.key === "ArrowUp") i = find(b[2] - 1, o => o[3] <= b[3] && b[3] < o[3] + o[4]);
    else if (e.key === "ArrowRight") i = find(b[2], o => o[3] >= b[3] + b[4]);
    else if (e.key === "ArrowLeft") i = g.boxes.findLastIndex(o => o[2] === b[2] && inView(g, o) && o[3] < b[3]);
    else if (e.key === "Enter" && b) zoom(g, g.at);
    else if (e.key === "Escape") zoom(g, -1);
    else return;
    e.preventDefault();
    if (i >= 0) select(g, i);
  }

  function find(g) {
    const want = search.value.trim().toLowerCase();
    g.hits = want && new Set(data.names.filter(n => n.toLowerCase().includes(want)));
    let sum = 0, end = -1;
    if (want) for (const b of g.boxes) if (g.hits.has(data.names[b[0]]) && b[3] >= end) { sum += b[4]; end = b[3] + b[4]; }
    $("flame-matches").textContent = want && share(sum, g.total) + " matches";
    mark(g);
  }

  const current = () => graphs[pick.value], isDeep = toggle(deeper, () => draw(current()));
  function show() {
    graphs.forEach((g, i) => { g.thread.hidden = i !== +pick.value; });
    if ((mode.options[2].disabled = !chart || !current().tree.row) && mode.value === "time") mode.value = "down";
    draw(current());
    find(current());
  }
  $("flame-controls").hidden = false;
  pick.onchange = mode.onchange = show;
  search.oninput = () => find(current());
  $("flame-reset").onclick = () => zoom(current(), -1);
  redraw.push(() => draw(current()));
  show();
}
