// waterfall lets people look for spans.
function waterfall() {
  for (const box of document.querySelectorAll(".waterfall")) {
    const search = box.querySelector("input");
    search.closest(".controls").hidden = false;
    search.oninput = () => {
      const want = search.value.trim().toLowerCase();
      let n = 0;
      for (const row of box.querySelectorAll("g.span")) {
        const hit = row.textContent.toLowerCase().includes(want);
        row.classList.toggle("out", !hit);
        n += hit;
      }
      box.querySelector("output").textContent = want ? n + " found" : "";
    };
    for (const row of box.querySelectorAll("g.span")) {
      const title = row.querySelector("title"), text = title.textContent;
      title.remove();
      row.append(shape("desc", {}));
      row.lastChild.textContent = text;
      row.onpointermove = e => hint(text, e);
      row.onpointerleave = () => hint("");
    }
  }
}
