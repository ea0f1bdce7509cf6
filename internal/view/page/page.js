"use strict";

// The page shows the report of a trace, which needs no network. In a second tab, it frames the Perfetto UI, to which it hands the trace from its
// own origin. The UI answers PING with PONG once it listens; messages posted before are lost. The UI may answer several pending PINGs, so only the first
// PONG counts.
{
  const pingInterval = 100; // ms
  const patience = 2000; // ms without a PONG until the page reports it
  const tabPatience = 8000; // in a tab, where the UI may ask something first that the page cannot see
  const goneAfter = 3000; // ms without a connection until weft counts as ended
  const mostReloaded = 256 * 2 ** 20; // bytes; the UI loads a smaller trace again to show something in it

  const element = (id) => document.getElementById(id);
  const show = (id, on) => { element(id).hidden = !on; };

  let state = null; // latest state sent by weft
  let chosen = 0; // number of the trace shown
  let frame = null; // the handover to the frame
  let tab = null; // the latest handover to a tab
  let ended = false; // whether weft has ended
  let report = null; // the frame of the report
  let shown = "report"; // the selected tab
  let reading = null; // the start of a reading: {number, read, at}

  const trace = () => state?.traces[chosen];
  const address = (number) => `trace/${number}`;

  // A Handover gives one trace to one window of the UI.
  class Handover {
    constructor(number, target, patience) {
      this.number = number;
      this.target = target;
      this.answered = false;
      this.posted = false;
      this.silent = false; // whether the UI has been silent for too long
      this.failure = "";
      this.timer = setInterval(() => this.ping(), pingInterval);
      this.patience = setTimeout(() => { this.silent = true; render(); }, patience);
    }

    ping() {
      if (this.target.closed) {
        this.stop();
        return;
      }
      this.target.postMessage("PING", "*"); // any origin: a PING reveals nothing, and the window may still be blank
    }

    stop() {
      clearInterval(this.timer);
      clearTimeout(this.patience);
      this.stopped = true;
      render();
    }

    pong() {
      if (this.answered || this.stopped) {
        return;
      }
      this.answered = true;
      this.silent = false;
      clearInterval(this.timer);
      clearTimeout(this.patience);
      this.post();
      render();
    }

    // post hands the trace over once the UI listens and the trace is ready; it is called when either happens.
    async post() {
      const its = state.traces[this.number];
      if (!this.answered || this.stopped || this.fetching || its.state !== "ready") {
        return;
      }
      this.fetching = true;
      try {
        const answer = await fetch(address(this.number));
        if (!answer.ok) {
          throw new Error(`HTTP ${answer.status}`);
        }
        const buffer = await answer.arrayBuffer();
        if (this.stopped) {
          return;
        }
        const message = { perfetto: { buffer, title: its.name, fileName: its.name, localOnly: true, keepApiOpen: true } };
        this.target.postMessage(message, uiOrigin(), [buffer]);
        this.posted = true;
      } catch (error) {
        this.failure = `The trace could not be handed over: ${error.message}`;
        render();
        return;
      }
      render();
      this.afterPost(its);
      await fetch("opened", { method: "POST", body: String(this.number) }).catch(() => {});
    }

    afterPost() {}

    // scrollTo shows a part of the timeline, in seconds, with some room around it if it is only a moment. A UI with a trace accepts no other
    // messages, such as about a track or a slice.
    scrollTo({ start, end }) {
      const around = end > start ? 0 : 5e-4;
      this.target.postMessage({ perfetto: { timeStart: start - around, timeEnd: end + around, viewPercentage: 0.8 } }, uiOrigin());
    }
  }

  // The link of a tab stays empty, because telemetry reads it there; a message specifies the first view.
  class TabHandover extends Handover {
    afterPost(its) {
      if (its.scroll) {
        this.scrollTo(its.scroll);
      }
    }
  }

  class FrameHandover extends Handover {
    afterPost() {
      if (document.activeElement === document.body && shown === "timeline") {
        element("stage").querySelector("iframe")?.focus(); // for the UI's keyboard shortcuts
      }
    }
  }

  const uiOrigin = () => new URL(state.ui).origin;

  // start shows the chosen trace in a new frame when it is ready. The UI reads the first view from its address, only once.
  function start(at) {
    if (frame !== null || state === null || ended || trace().state !== "ready") {
      return;
    }
    const view = document.createElement("iframe");
    view.title = "Perfetto";
    view.referrerPolicy = "no-referrer";
    view.allow = "clipboard-write; fullscreen";
    view.src = `${state.ui}#!/?${at ? argumentsFor(at) : trace().arguments}`;
    element("stage").replaceChildren(view);
    frame = new FrameHandover(chosen, view.contentWindow, patience);
  }

  // argumentsFor returns the arguments in the UI's address that show a time range: the slice with exactly this range is selected, which brings its
  // track into view, and the named track is pinned.
  function argumentsFor({ from, to, track }) {
    const its = trace(), args = new URLSearchParams(its.arguments);
    const room = (to - from) / 8n + 500000n, most = (a, b) => a > b ? a : b, least = (a, b) => a < b ? a : b;
    args.set("ts", from);
    args.set("dur", to - from);
    args.set("visStart", most(from - room, BigInt(its.start_ns)));
    args.set("visEnd", least(to + room, BigInt(its.end_ns)));
    if (track) {
      const pin = { id: "dev.perfetto.PinTracksByRegex", args: [`^${track.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$`, "name"] };
      args.set("startupCommands", JSON.stringify([...JSON.parse(args.get("startupCommands") ?? "[]"), pin]));
    }
    return args;
  }

  function restart() {
    frame?.stop();
    frame = null;
    element("stage").replaceChildren();
    start();
    render();
  }

  // change shows another trace.
  function change(number) {
    chosen = number;
    report?.remove();
    report = null;
    choose("report");
    restart();
  }

  // openReport frames the report as soon as there is one, and shows the timeline if there will be none.
  function openReport() {
    const its = trace();
    if (its.unreported && shown === "report") {
      choose("timeline");
    }
    if (!its.report || report !== null || ended) {
      return;
    }
    report = document.createElement("iframe");
    report.title = "Report";
    report.name = "beside-timeline"; // tells the report to send the selection
    report.setAttribute("sandbox", "allow-scripts");
    report.referrerPolicy = "no-referrer";
    report.src = `report/${chosen}`;
    report.addEventListener("load", () => {
      if (document.activeElement === document.body && shown === "report") {
        report?.focus(); // for its keyboard shortcuts
      }
    });
    element("report").append(report);
  }

  // choose shows the timeline or the report; the other one keeps its state.
  function choose(what) {
    const isReport = what === "report";
    shown = what;
    show("report", isReport);
    show("stage", !isReport);
    for (const [id, selected] of [["show-report", isReport], ["show-timeline", !isReport]]) {
      element(id).setAttribute("aria-selected", String(selected));
      element(id).tabIndex = selected ? 0 : -1; // the arrow keys reach the other one
    }
    render();
  }

  // chooseByKey follows the WAI-ARIA pattern for tabs: the tab with the focus is shown.
  function chooseByKey(event) {
    const tabs = ["report", "timeline"], now = tabs.findIndex((what) => event.target.id === `show-${what}`);
    const step = { ArrowRight: 1, ArrowLeft: -1, Home: -now, End: tabs.length - 1 - now }[event.key];
    if (step === undefined || now < 0 || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) {
      return;
    }
    event.preventDefault();
    const what = tabs[(now + step + tabs.length) % tabs.length];
    choose(what);
    element(`show-${what}`).focus();
  }

  // showInTimeline handles a request from the report: "START LENGTH ROW", a time range of the trace and, if known, a row of the report's timeline.
  // Without a UI, it does nothing, because the report shows the time in its own timeline anyway.
  function showInTimeline(asked) {
    const its = trace(), found = typeof asked === "string" && /^(-?\d{1,19}) (\d{1,19})(?: (\d{1,4}))?$/.exec(asked);
    if (!found || frame === null || frame.silent || frame.failure !== "") {
      return;
    }
    const from = BigInt(found[1]), to = from + BigInt(found[2]);
    if (from < BigInt(its.start_ns) || to > BigInt(its.end_ns)) {
      return;
    }
    if (its.bytes <= mostReloaded && !ended) {
      frame.stop();
      frame = null;
      start({ from, to, track: its.tracks?.[found[3] - 1] });
    } else if (frame.posted) {
      frame.scrollTo({ start: Number(from) / 1e9, end: Number(to) / 1e9 });
    } else {
      return;
    }
    choose("timeline");
  }

  function openTab() {
    const target = window.open(state.ui, "_blank");
    if (target === null) {
      say("The browser has blocked the tab. Allow this page to open windows, and try again.", {});
      return;
    }
    tab?.stop();
    tab = new TabHandover(chosen, target, tabPatience);
    render();
  }

  // statusText is the progress shown in the bar.
  function statusText(its) {
    switch (true) {
      case its.state === "waiting":
        return "waiting for its turn";
      case its.state === "converting" && (its.read < its.size || its.size <= 0):
        return `reading ${its.size > 0 ? `${Math.floor(100 * its.read / its.size)} %` : sizeText(its.read)}${rateText(its)}`;
      case its.state !== "failed" && !its.report && !its.unreported:
        return "making the report";
      case its.state === "converting":
        return "writing the trace";
      case its.state === "failed":
        return "not converted";
      case ended && frame?.posted:
        return "weft view has ended";
      case frame === null || !frame.answered:
        return frame?.silent ? "" : "waiting for Perfetto";
      case !frame.posted:
        return frame.failure === "" ? "handing it over" : "";
    }
    return "";
  }

  // rateText is the speed of reading, once it is known.
  function rateText(its) {
    const now = performance.now();
    if (reading?.number !== chosen) {
      reading = { number: chosen, read: its.read, at: now };
    }
    const ms = now - reading.at;
    return ms < 500 ? "" : ` · ${((its.read - reading.read) / ms / 1000).toFixed(0)} MB/s`;
  }

  function sizeText(bytes) {
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let unit = 0;
    for (; bytes >= 1000 && unit < units.length - 1; unit++) {
      bytes /= 1024;
    }
    return `${unit > 0 && bytes < 99.95 ? bytes.toFixed(1) : Math.round(bytes)} ${units[unit]}`;
  }

  // say shows a notice with actions, or hides it if the text is empty.
  function say(text, { bad = false, download = false, again = false, open = false }) {
    element("said").textContent = text;
    element("notice").classList.toggle("bad", bad);
    show("notice", text !== "");
    show("notice-download", download);
    show("again", again);
    show("notice-open", open);
  }

  function notice(its) {
    const there = its.state === "ready" && !ended;
    switch (true) {
      case its.state === "failed":
        return say(its.failure, { bad: true });
      case ended && !frame?.posted:
        return say("weft view has ended before Perfetto had the trace. Start it again.", { bad: true });
      case frame !== null && frame.failure !== "":
        return say(frame.failure, { bad: true, download: there, again: there });
      case tab !== null && tab.failure !== "":
        return say(tab.failure, { bad: true, download: there });
      case tab !== null && tab.silent && !tab.stopped:
        return say("Perfetto does not answer in its tab. It may be asking you something there, or the network is down:",
          { download: there, again: frame !== null && frame.silent, open: there });
      case tab !== null && !tab.answered && !tab.stopped:
        return say("If the browser asks whether Perfetto may access other apps and services on this device: either answer is fine.", {});
      case frame !== null && frame.silent && shown === "report":
        return say(`Perfetto has not loaded: ${absence()} The report needs no network.${offline()}`, { again: true });
      case frame !== null && frame.silent:
        return say(`Perfetto has not loaded: it may be asking you something below, or ${absence()}${offline()}`,
          { download: there, again: true, open: true });
    }
    say("", {});
  }

  const absence = () => `${new URL(state.ui).host} does not answer.`;
  const offline = () => state.own_ui ? "" : " For timelines without a network: weft view --ui FOLDER.";

  function renderList() {
    const several = state.traces.length > 1;
    show("list", several);
    show("only", !several);
    element("only").textContent = trace().name;
    element("only").title = trace().name;
    if (!several) {
      return;
    }
    const list = element("list");
    const marks = { waiting: " – waiting", converting: " – converting", failed: " – failed", ready: "" };
    state.traces.forEach((its, number) => {
      const option = list.options[number] ?? list.appendChild(document.createElement("option"));
      const text = its.name + marks[its.state];
      if (option.textContent !== text) {
        option.textContent = text;
      }
      option.value = String(number);
    });
    list.value = String(chosen);
  }

  function render() {
    const its = trace();
    if (!its) {
      return;
    }
    document.title = `${its.name} – weft view`;
    renderList();
    element("status").textContent = statusText(its);
    element("bar").classList.toggle("settled", Boolean(frame?.posted) && !ended); // then only its size is left to show
    const progress = element("progress");
    progress.hidden = its.state !== "converting" || its.size <= 0;
    progress.value = its.size > 0 ? its.read / its.size : 0;
    const there = its.state === "ready" && !ended;
    for (const id of ["download", "notice-download"]) {
      element(id).href = address(chosen);
      element(id).download = its.file_name ?? "";
      element(id).title = `The trace for Perfetto, ${sizeText(its.bytes ?? 0)}`;
    }
    show("download", there);
    show("open", there);
    openReport();
    show("tabs", report !== null || Boolean(its.unreported));
    show("soon", report === null && !its.unreported && its.state !== "failed" && !ended);
    notice(its);
  }

  function receive(text) {
    state = JSON.parse(text);
    if (state.traces.length === 0) {
      return;
    }
    start();
    for (const handover of [frame, tab]) {
      if (handover !== null && !handover.posted) {
        handover.post();
      }
    }
    render();
  }

  function end() {
    events.close();
    ended = true;
    if (frame !== null && !frame.posted) {
      frame.stop();
    }
    render();
  }

  const events = new EventSource("events");
  let gone = 0;
  events.addEventListener("message", (event) => receive(event.data));
  events.addEventListener("end", end);
  events.addEventListener("open", () => { clearTimeout(gone); gone = 0; });
  events.addEventListener("error", () => { gone ||= setTimeout(end, goneAfter); });

  window.addEventListener("message", (event) => {
    if (report !== null && event.source === report.contentWindow) {
      if (event.origin === "null") { // the origin of a frame without rights
        showInTimeline(event.data?.weft);
      }
      return;
    }
    if (state === null || event.data !== "PONG" || event.origin !== uiOrigin()) {
      return;
    }
    for (const handover of [frame, tab]) {
      if (handover !== null && event.source === handover.target) {
        handover.pong();
      }
    }
  });

  element("list").addEventListener("change", (event) => {
    change(Number(event.target.value));
  });
  element("show-timeline").addEventListener("click", () => choose("timeline"));
  element("show-report").addEventListener("click", () => choose("report"));
  element("tabs").addEventListener("keydown", chooseByKey);
  element("open").addEventListener("click", openTab);
  element("notice-open").addEventListener("click", openTab);
  element("again").addEventListener("click", restart);
}
