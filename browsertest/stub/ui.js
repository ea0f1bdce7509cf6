"use strict";

// What the Perfetto UI of August 2026 does towards pages that hand it a trace (frontend/index.ts, frontend/post_message_handler.ts,
// frontend/trace_url_handler.ts), and nothing else.

const mode = document.body.dataset.mode;
const pings = []; // when they came
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

function report(what) {
  document.getElementById("text").textContent = what.kind + (what.title ? " " + what.title : "");
  return fetch("/report", { method: "POST", body: JSON.stringify(what) });
}

// parseArgs reads the arguments of the link from the fragment.
function parseArgs() {
  const at = location.hash.indexOf("?");
  return at < 0 ? {} : Object.fromEntries(new URLSearchParams(location.hash.slice(at + 1)));
}

async function digest(buffer) {
  const sum = new Uint8Array(await crypto.subtle.digest("SHA-256", buffer));
  return [...sum].map((b) => b.toString(16).padStart(2, "0")).join("");
}

const sanitize = (text) => text?.replace(/[^A-Za-z0-9.\-_#:/?=&;%+$ ]/g, " ");

function isTrusted(origin) {
  return origin === window.origin || origin !== "null" && ["localhost", "127.0.0.1", "[::1]"].includes(new URL(origin).hostname);
}

let traceReported = Promise.resolve();

async function onMessage(event) {
  if (document.readyState !== "complete") {
    console.error("Ignoring message - document not ready yet.");
    return;
  }
  if (event.source === null || event.source !== window.opener && event.source !== window.parent && event.source.opener !== window) {
    return;
  }
  if (event.data === "PING") {
    ping(event.source);
    return;
  }
  const posted = event.data?.perfetto;
  if (posted?.timeStart !== undefined || posted?.timeEnd !== undefined) {
    await traceReported; // the sum of a large trace takes a while
    report({ kind: "scroll", timeStart: posted.timeStart, timeEnd: posted.timeEnd });
    return;
  }
  if (!(posted?.buffer instanceof ArrayBuffer) || typeof posted.title !== "string" || posted.buffer.byteLength === 0) {
    report({ kind: "unknown" });
    return;
  }
  if (!posted.keepApiOpen) {
    window.removeEventListener("message", onMessage);
  }
  draw();
  traceReported = digest(posted.buffer).then((sha256) => report({
    kind: "trace", bytes: posted.buffer.byteLength, sha256, title: sanitize(posted.title),
    fileName: sanitize(posted.fileName), url: posted.url, localOnly: posted.localOnly ?? true, keepApiOpen: posted.keepApiOpen,
    origin: event.origin, asked: !isTrusted(event.origin),
  }));
}

// ping answers a PING.
function ping(source) {
  pings.push(performance.now());
  if (mode === "counts") {
    if (pings.length === 20) {
      report({ kind: "pings", times: pings });
    }
    return;
  }
  source.postMessage("PONG", "*");
  if (mode === "answers and leaves") {
    leave();
  }
}

// leave has another site take the place of the UI, as a link in it could.
function leave() {
  location.replace("https://evil.test/evil");
}

// draw draws something, for pictures.
function draw() {
  document.querySelectorAll(".track").forEach((track) => track.remove());
  for (let row = 0; row < 16; row++) {
    const track = document.body.appendChild(document.createElement("div"));
    track.className = "track";
    for (let at = row * 7 % 11; at < 90; at += 5 + row * 3 % 17) {
      const slice = track.appendChild(document.createElement("i"));
      slice.style.left = `${at}%`;
      slice.style.width = `${2 + row * at % 4}%`;
    }
  }
}

async function fetchTrace(url) {
  try {
    const buffer = await (await (await fetch(url)).blob()).arrayBuffer();
    report({ kind: "fetched", bytes: buffer.byteLength, sha256: await digest(buffer), fileName: url.slice(url.lastIndexOf("/") + 1) });
  } catch (error) {
    report({ kind: "fetched", error: String(error) });
  }
}

async function main() {
  const args = parseArgs();
  report({ kind: "start", href: location.href, framed: window.parent !== window, args });
  if (mode === "silent") {
    return;
  }
  if (mode === "leaves") {
    leave();
    return;
  }
  if (mode === "late") {
    await sleep(10000);
  }
  // The UI looks for a trace processor before it does anything else.
  let answered = false;
  try {
    answered = (await fetch("http://127.0.0.1:9001/status", { method: "POST", signal: AbortSignal.timeout(2000) })).status === 200;
  } catch {
    // nobody is there, or may not be asked
  }
  report({ kind: "status", answered });
  window.addEventListener("message", onMessage);
  if (mode === "busy") {
    for (const until = performance.now() + 700; performance.now() < until;);
  }
  report({ kind: "listening" });
  if (args.url) {
    fetchTrace(args.url);
  }
}

if (document.readyState === "complete") {
  main();
} else {
  window.addEventListener("load", main);
}
