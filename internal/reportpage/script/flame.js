// Flame graphs: a box is [name, place, depth, start, total, self, kind].
function flameGraphs() {
  const ROW = 18, graphs = data.trees.map((tree, i) => graph(tree, $("flame-" + i)));
  const pick = $("flame-thread"), search = $("flame-search"), matches = $("flame-matches"), deeper = $("flame-deeper");
  function graph(tree, thread) {
    const g = {tree, thread, from: 0, span: tree.total, at: -1, was: -1, hits: null, marked: null};
    g.box = thread.querySelector(".flame");
    g.svg = g.box.querySelector("svg");
    g.live = thread.querySelector(".live");
    return g;
  }

  function boxes(g) {
    if (g.rects) return;
    g.svg.replaceChildren();
    const rects = document.createDocumentFragment();
    g.rects = g.tree.boxes.map((b, i) => {
      const r = document.createElementNS(NS, "rect");
      r.setAttribute("y", b[2] * ROW);
      r.setAttribute("height", ROW - 1);
      r.setAttribute("class", g.tree.kinds[b[6]] + " t" + b[0] % 3);
      r.dataset.i = i;
      rects.append(r);
      return r;
    });
    g.labels = document.createElementNS(NS, "g");
    g.svg.append(rects, g.labels);
    g.box.setAttribute("role", "application");
    g.svg.onclick = e => { if (e.target.dataset.i) { select(g, +e.target.dataset.i); zoom(g, +e.target.dataset.i); } };
    g.svg.onpointermove = e => { const i = e.target.dataset.i; if (i) say(g, +i); hint(i && g.live.textContent, e); };
    g.svg.onpointerleave = () => hint("");
    g.box.onkeydown = e => key(g, e);
  }

  function draw(g) {
    boxes(g);
    const width = g.svg.clientWidth || 1000, labels = document.createDocumentFragment();
    const rows = deeper.ariaPressed === "true" ? g.tree.rows : level(g);
    deeper.hidden = level(g) === g.tree.rows;
    deeper.textContent = "Deeper (+" + (g.tree.rows - level(g)) + ")";
    g.svg.setAttribute("height", rows * ROW);
    g.svg.setAttribute("viewBox", "0 0 " + width + " " + rows * ROW);
    g.svg.setAttribute("preserveAspectRatio", "none");
    g.tree.boxes.forEach((b, i) => {
      const r = g.rects[i], x = Math.max((b[3] - g.from) / g.span, 0) * width, end = Math.min((b[3] + b[4] - g.from) / g.span, 1) * width, w = end - x;
      if (w < 0.3) {
        if (!r.gone) r.setAttribute("width", 0);
        r.gone = true;
        return;
      }
      r.gone = false;
      r.setAttribute("x", x.toFixed(1));
      r.setAttribute("width", w.toFixed(1));
      if (w > 32) {
        const t = document.createElementNS(NS, "text"), name = data.names[b[0]];
        t.setAttribute("x", (x + 3).toFixed(1));
        t.setAttribute("y", b[2] * ROW + 13);
        t.textContent = fit(name, w - 6);
        labels.append(t);
      }
    });
    g.labels.replaceChildren(labels);
    mark(g);
  }

  // level returns the number of rows that hold nearly all of what is in view.
  function level(g) {
    const itself = new Array(g.tree.rows).fill(0);
    for (const b of g.tree.boxes) if (b[3] < g.from + g.span && b[3] + b[4] > g.from) itself[b[2]] += b[5];
    let left = itself.reduce((a, b) => a + b, 0) / 100, rows = g.tree.rows;
    while (rows > 1 && (left -= itself[rows - 1]) > 0) rows--;
    return rows;
  }

  function mark(g) {
    if (g.marked !== g.hits) g.rects.forEach((r, i) => r.classList.toggle("out", g.hits !== null && !g.hits.has(data.names[g.tree.boxes[i][0]])));
    g.marked = g.hits;
    g.rects[g.was]?.classList.remove("at");
    g.rects[g.was = g.at]?.classList.add("at");
  }

  function say(g, i) {
    const b = g.tree.boxes[i], place = data.places[b[1]];
    g.live.textContent = data.names[b[0]] + ": " + time(b[4]) + ", " + share(b[4], g.tree.total) + " (itself " + time(b[5]) + ")" + (place ? " – " + place : "");
  }

  function select(g, i) { g.at = i; say(g, i); mark(g); }

  function zoom(g, i) {
    const b = i < 0 ? null : g.tree.boxes[i];
    g.from = b ? b[3] : 0;
    g.span = b ? b[4] || 1 : g.tree.total || 1;
    draw(g);
  }

  function key(g, e) {
    const boxes = g.tree.boxes, b = boxes[g.at], shown = o => o[3] < g.from + g.span && o[3] + o[4] > g.from,
      find = (depth, test) => boxes.findIndex(o => o[2] === depth && shown(o) && test(o));
    let i = -1;
    if (!b && /^Arrow/.test(e.key)) i = 0;
    else if (e.key === "ArrowDown") i = find(b[2] + 1, o => o[3] >= b[3] && o[3] < b[3] + b[4]);
    else if (e.key === "ArrowUp") i = find(b[2] - 1, o => o[3] <= b[3] && b[3] < o[3] + o[4]);
    else if (e.key === "ArrowRight") i = find(b[2], o => o[3] >= b[3] + b[4]);
    else if (e.key === "ArrowLeft") i = boxes.findLastIndex(o => o[2] === b[2] && shown(o) && o[3] < b[3]);
    else if (e.key === "Enter" && b) zoom(g, g.at);
    else if (e.key === "Escape") zoom(g, -1);
    else return;
    e.preventDefault();
    if (i >= 0) select(g, i);
  }

  function find(g) {
    const want = search.value.trim().toLowerCase();
    g.hits = null;
    matches.textContent = "";
    if (want) {
      g.hits = new Set(data.names.filter(n => n.toLowerCase().includes(want)));
      let sum = 0, end = -1;
      for (const b of g.tree.boxes) if (g.hits.has(data.names[b[0]]) && b[3] >= end) { sum += b[4]; end = b[3] + b[4]; }
      matches.textContent = share(sum, g.tree.total || 1) + " matches";
    }
    mark(g);
  }

  const current = () => graphs[+pick.value];
  function show() {
    graphs.forEach((g, i) => { g.thread.hidden = i !== +pick.value; });
    draw(current());
    find(current());
  }
  $("flame-controls").hidden = false;
  pick.onchange = show;
  search.oninput = () => find(current());
  deeper.onclick = () => { deeper.ariaPressed = deeper.ariaPressed !== "true"; draw(current()); };
  $("flame-reset").onclick = () => zoom(current(), -1);
  redraw.push(() => draw(current()));
  show();
}
