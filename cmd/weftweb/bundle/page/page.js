// The page of weft.html. It takes files, has a worker (worker.js, main.go) read them, and shows the report. For one file, it also offers a
// trace for Perfetto.
"use strict";

const perfettoUI = "https://ui.perfetto.dev";
const mostBytes = 2e9; // of an input; no module can hold more
const manyBytes = 500e6; // larger files take long and need much memory
const muchMemory = 300e6; // of the module, which files of manyBytes need
const mostHandedOver = 2040 * 2 ** 20; // of a trace; a page can post no more to another
const resend = 100; // ms between PINGs
const patience = 8000; // ms without an answer until the page reports it

const $ = (id) => document.getElementById(id);
const show = (id, on) => { $(id).hidden = !on; };

let worker = null; // runs weft; one for all files, because the second file is faster
let ready = null; // a promise, resolved when the worker takes tasks
let task = null; // its current or next task: {chunks, resolve, reject, report}
let input = null; // the files of the current report
let output = null; // the converted trace, a Blob
let reportText = ""; // the report of input
let began = 0; // when reading started, in ms

// The compiled module is kept, so that the next worker starts at once.
let compiled = null;
function compile() {
	compiled ||= moduleBytes().then((bytes) => WebAssembly.compile(bytes));
	compiled.catch(() => { compiled = null; }); // the next file tries again
	return compiled;
}

// The unpacked module: weft.html contains it; a hosted page fetches it from its own folder.
async function moduleBytes() {
	const text = $("module").textContent.trim();
	if (text === "") {
		const answer = await fetch("weft.wasm");
		if (!answer.ok) throw new Error(`weft.wasm: ${answer.status} ${answer.statusText}`);
		return answer.arrayBuffer();
	}
	const packed = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
	return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

function startWorker() {
	const address = URL.createObjectURL(new Blob([$("worker").textContent], { type: "text/javascript" }));
	const started = new Worker(address);
	worker = started;
	let runs = false; // whether the module has started
	ready = new Promise((resolve) => {
		const drop = (why) => { if (started === worker) dropWorker(why); };
		started.onmessage = ({ data }) => {
			if (started !== worker) return;
			if (data.ready) {
				URL.revokeObjectURL(address);
				runs = true;
				resolve();
				practise();
			} else if ("practised" in data) {
				practise();
			} else if ("ended" in data) {
				drop(runs ? endedText(data.ended) : `weft cannot be started: ${data.ended}`);
			} else if (task) {
				answer(data);
			}
		};
		started.onerror = (event) => {
			event.preventDefault();
			drop(event.message || "The worker cannot be started.");
		};
		compile().then((module) => started.postMessage({ module }), (err) => drop(`weft cannot be started: ${err.message}`));
	});
}

let rounds = 4; // of practice; more would help little

// practise lets the worker read an example while it is idle.
function practise() {
	if (!task && rounds-- > 0) worker.postMessage({ what: "open", files: [example()], options: { attribute: true, report: true }, practice: true });
}

// example returns the file of the first example, or of a button.
function example(button = document.querySelector("#examples button")) {
	return new File([Uint8Array.from(atob($(button.dataset.file).textContent.trim()), (c) => c.charCodeAt(0))], button.dataset.file);
}

// endedText explains why the module ended: out of memory, or a bug.
function endedText(reason) {
	return /^(fatal error|runtime|RangeError): .*memory/.test(reason) ? tooLarge :
		`weft has failed, please report it: ${reason || "it ended without a reason"}. The command weft convert may do it.`;
}
const tooLarge = "This is more than a browser holds. The command weft convert does it, with files of any size.";

// dropWorker ends the worker; its task fails with the reason.
function dropWorker(why) {
	const failed = task;
	if (worker) worker.terminate();
	worker = ready = task = null;
	if (failed) failed.reject(new Error(why));
}

// answer handles a message from the worker about its task.
function answer(data) {
	if ("progress" in data) {
		progressOf(data.progress);
		if (data.memory > muchMemory) show("large", true); // the size of a packed file becomes known late
	} else if ("report" in data) {
		task.report(data.report);
	} else if ("unreported" in data) {
		hinter()(`There is no report: ${printable(data.unreported)}`);
	} else if ("chunk" in data) {
		task.chunks.push(new Blob([data.chunk])); // a Blob need not be in memory
	} else {
		const ended = task;
		task = null;
		if ("done" in data) ended.resolve(ended.chunks);
		else ended.reject(new Error(data.failed));
	}
}

// ask gives the worker one task when it is ready. report gets the report as soon as it is made.
function ask(what, files, options, report) {
	if (!worker) startWorker();
	return new Promise((resolve, reject) => {
		const mine = { chunks: [], resolve, reject, report };
		task = mine;
		ready.then(() => { if (task === mine) worker.postMessage({ what, files, options }); });
	});
}

const total = () => input.reduce((sum, file) => sum + file.size, 0);

function progressOf(bytes) {
	const all = total(), ms = performance.now() - began;
	$("progress").value = all > 0 ? bytes / all : 1;
	$("status").textContent = bytes < all ? `reading ${Math.floor(100 * bytes / all)} %` + (ms > 200 ? ` · ${(bytes / ms / 1000).toFixed(0)} MB/s` : "") : "making the report";
}

// take reads files and shows the report on one, the comparison of two (the older one is the base), or the summary of more.
async function take(list, withReport = true) {
	if (task) dropWorker("stopped");
	const files = [...list].sort((a, b) => a.lastModified - b.lastModified);
	const what = ["open", "compare"][files.length - 1] ?? "sum";
	input = files;
	output = null;
	reportText = "";
	begin();
	if (total() > mostBytes) {
		fail(`${title()} has ${size(total())}. This is more than a browser holds: weft convert does it.`);
		return;
	}
	const current = (then) => (value) => { if (files === input) then(value); };
	try {
		const chunks = await ask(what, files, { attribute: $("attribute").checked, report: withReport }, current(showReport));
		if (files === input) finish(what === "open" ? new Blob(chunks, { type: "application/octet-stream" }) : null);
	} catch (err) {
		if (files !== input) return;
		if (err.message === tooLarge && what === "open" && withReport && reportText === "") {
			take(files, false); // which takes less memory
			hinter()("There is no report: with it, this is more than a browser holds. The command weft report makes it.");
		} else if (reportText !== "") {
			hinter()(`There is no trace for Perfetto: ${printable(err.message)}`);
			$("made").textContent = "";
		} else {
			fail(err.message.startsWith(`${input[0].name}: `) || files.length > 1 ? err.message : `${files[0].name}: ${err.message}`);
		}
	}
}

const title = () => input.length === 1 ? printable(input[0].name) : input.length === 2 ? input.map((f) => printable(f.name)).join(" → ") : `${input.length} files`;

// begin shows that files are being read.
function begin() {
	$("page")?.remove();
	for (const id of ["problem", "large", "bar", "hint", "examples", "drop"]) show(id, false);
	for (const id of ["perfetto", "download"]) $(id).disabled = true;
	show("start", true);
	show("work", true);
	show("large", total() > manyBytes);
	$("name").textContent = title();
	$("status").textContent = "Starting";
	$("progress").value = 0;
	document.title = `${title()} – weft`;
	began = performance.now();
}

// showReport shows a report instead of the first screen; a trace may still follow.
function showReport(html) {
	reportText = html;
	const page = document.createElement("iframe");
	page.id = "page";
	page.title = "Report";
	page.setAttribute("sandbox", "allow-scripts");
	page.srcdoc = html;
	page.addEventListener("load", () => page.focus()); // for its keyboard shortcuts
	document.querySelector("main").append(page);
	showBar();
	$("made").textContent = input.length === 1 ? "writing the trace for Perfetto" : "";
}

function showBar() {
	show("start", false);
	show("bar", true);
	for (const id of ["perfetto", "download"]) show(id, input.length === 1);
	show("save", reportText !== "");
}

// finish offers the converted trace.
function finish(trace) {
	output = trace;
	showBar();
	$("made").textContent = "";
	if (!trace) return;
	$("download").disabled = false;
	$("download").title = `The trace for Perfetto, ${size(trace.size)} before it is packed`;
	$("perfetto").disabled = trace.size > mostHandedOver;
	if (trace.size > mostHandedOver) hinter()("The trace is larger than what a page can hand over: download it, and open it in Perfetto from there.");
}

function fail(text) {
	show("work", false);
	for (const id of ["drop", "examples"]) show(id, true);
	say(text);
}

// say shows an error.
function say(text) {
	$("said").textContent = text.split("\n").map(printable).join("\n");
	show("problem", true);
}

// download hands a Blob to the user as a file.
function download(blob, name) {
	const a = document.createElement("a");
	a.href = URL.createObjectURL(blob);
	a.download = name;
	a.click();
	setTimeout(() => URL.revokeObjectURL(a.href), 60_000);
}

async function downloadTrace() {
	const trace = output, name = traceName(), hint = hinter();
	hint("Packing");
	try {
		const packed = await new Response(trace.stream().pipeThrough(new CompressionStream("gzip"))).blob();
		download(packed, `${name}.gz`);
		hint(`${printable(name)}.gz has ${size(packed.size)}.`);
	} catch (err) {
		download(trace, name);
		hint(`The trace could not be packed: ${printable(err.message)}. ${printable(name)} is as it was, with ${size(trace.size)}.`);
	}
}

let lastHint = null; // of the latest request

// hinter returns a function that shows the progress of a request in the hint, until there is another file or a later request.
function hinter() {
	const file = input, mine = lastHint = {};
	return (text) => {
		if (file !== input || mine !== lastHint) return;
		$("hint").textContent = text;
		show("hint", text !== "");
	};
}

// traceName names the output after the input, without its extensions.
const traceName = () => input[0].name.replace(/\.(gz|zst|zip)$/i, "").replace(/\.(json|cpuprofile|pftrace|perfetto-trace|txt|log)$/i, "") + ".pftrace";

// openPerfetto opens the UI in a tab and hands the trace over when it listens. Messages sent before are lost silently, so it sends PINGs until
// the UI answers; several answers may be pending.
function openPerfetto() {
	const trace = output, called = printable(input[0].name), name = traceName(), hint = hinter();
	const tab = window.open(`${perfettoUI}/`);
	if (!tab) {
		hint("The browser did not open a tab: allow pop-ups for this page, or download the trace.");
		return;
	}
	hint("Waiting for Perfetto. It asks whether to open the trace: the trace goes to that tab, and nowhere else.");
	const ping = setInterval(() => {
		if (!tab.closed) {
			tab.postMessage("PING", perfettoUI);
			return;
		}
		stop();
		hint("The tab was closed before Perfetto had the trace.");
	}, resend);
	const late = setTimeout(() => {
		hint("Perfetto does not answer. It may be asking you something in its tab, or the network is down. Download saves the trace, for Perfetto to open later.");
	}, patience);
	const listen = (event) => {
		if (event.source !== tab || event.origin !== perfettoUI || event.data !== "PONG") return;
		stop();
		hint("Perfetto gets the trace.");
		post().then(() => hint("Perfetto has the trace."), (err) => hint(`The trace could not be handed over: ${printable(err.message)}. Download it, and open it in Perfetto.`));
	};
	const post = async () => {
		const buffer = await trace.arrayBuffer();
		tab.postMessage({ perfetto: { buffer, title: called, fileName: name } }, perfettoUI, [buffer]);
	};
	const stop = () => {
		clearInterval(ping);
		clearTimeout(late);
		removeEventListener("message", listen);
	};
	addEventListener("message", listen);
}

// printable escapes invisible characters and marks of direction in a text. The joiners of scripts and of emoji stay.
const printable = (text) => text.replace(/(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}]/gu, (c) => {
	const code = c.codePointAt(0).toString(16);
	return code.length > 4 ? `\\U${code.padStart(8, "0")}` : `\\u${code.padStart(4, "0")}`;
});
const size = (bytes) => bytes < 1024 ? `${bytes}\u00a0bytes` : bytes < 1024 ** 2 ? `${(bytes / 1024).toFixed(1)}\u00a0KiB` : bytes < 1024 ** 3 ? `${(bytes / 1024 ** 2).toFixed(1)}\u00a0MiB` : `${(bytes / 1024 ** 3).toFixed(2)}\u00a0GiB`;

$("file").addEventListener("change", () => {
	if ($("file").files.length > 0) take($("file").files);
	$("file").value = ""; // allows choosing the same file again
});
for (const button of document.querySelectorAll("#examples button")) {
	button.addEventListener("click", () => take([example(button)]));
}

// Files may be dropped anywhere on the page; otherwise the browser would leave it and open the file. The frame of a report would receive them, so the
// frame is covered while another window, from which files can come, has the focus.
addEventListener("blur", () => { show("over", !document.hasFocus()); });
addEventListener("focus", () => show("over", false));
$("over").addEventListener("pointermove", () => show("over", false));
addEventListener("dragover", (event) => { event.preventDefault(); document.body.classList.add("over"); });
addEventListener("dragleave", (event) => { if (!event.relatedTarget) document.body.classList.remove("over"); });
addEventListener("drop", (event) => {
	event.preventDefault();
	document.body.classList.remove("over");
	show("over", false);
	if (event.dataTransfer.files.length > 0) take(event.dataTransfer.files);
});
$("stop").addEventListener("click", () => { dropWorker("stopped"); });
$("download").addEventListener("click", downloadTrace);
$("perfetto").addEventListener("click", openPerfetto);
$("save").addEventListener("click", () => {
	const name = input.length === 1 ? traceName().replace(/\.pftrace$/, "") : input.length === 2 ? "comparison" : "sum";
	download(new Blob([reportText], { type: "text/html" }), `${name}.report.html`);
});
startWorker();
