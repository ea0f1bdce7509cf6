// showLine marks a line in the waterfall of a section, or in the first waterfall if the section has none.
function showLine(i, section) {
  document.querySelector(".span.at")?.classList.remove("at");
  const row = $$("g.span", section?.querySelector(".waterfall") || document)[i];
  row.classList.add("at");
  row.scrollIntoView({block: "center"});
}

// waterfall adds search and tooltips to waterfalls.
function waterfall() {
  for (const box of $$(".waterfall")) {
    const search = box.querySelector("input");
    search.closest(".controls").hidden = false;
    search.oninput = () => {
      const want = search.value.trim().toLowerCase();
      let n = 0;
      for (const row of $$("g.span", box)) {
        const hit = row.textContent.toLowerCase().includes(want);
        row.classList.toggle("out", !hit);
        n += hit;
      }
      box.querySelector("output").textContent = want && n + " found";
    };
    for (const row of $$("g.span", box)) {
      const title = row.querySelector("title"), text = title.textContent;
      title.remove();
      const desc = shape("desc");
      desc.textContent = text;
      row.append(desc);
      row.onpointermove = e => hint(text, e);
      row.onpointerleave = () => hint("");
    }
  }
}
