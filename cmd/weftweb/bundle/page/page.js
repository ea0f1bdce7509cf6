// The page of weft.html: takes a file, has it converted by a worker (worker.js, main.go), and offers what comes out.
"use strict";

const perfettoUI = "https://ui.perfetto.dev";
const mostBytes = 2e9; // of an input: more does not fit a module, whatever the machine has
const manyBytes = 500e6; // from here on it takes long and much memory
const muchMemory = 300e6; // of the module, which it takes for files of about that many bytes
const mostHandedOver = 2040 * 2 ** 20; // of a result: what a page can post to another
const resend = 100; // ms between the questions whether Perfetto listens
const patience = 8000; // ms without an answer, after which the page says what may be wrong

const $ = (id) => document.getElementById(id);
const show = (id, on) => { $(id).hidden = !on; };

let worker = null; // runs weft; one for all files, because the second one is faster
let ready = null; // a promise: worker can be asked
let task = null; // what it works on, or will when it is ready: {chunks, resolve, reject}
let input = null; // the file that was converted
let output = null; // the trace that was made, a Blob
let reporting = null; // a promise of the report of input, when it was begun
let reportText = ""; // the report of input

// The module, compiled, and kept: a worker that follows another one starts at once.
let compiled = null;
function compile() {
	compiled ||= moduleBytes().then((bytes) => WebAssembly.compile(bytes));
	compiled.catch(() => { compiled = null; }); // another file tries again
	return compiled;
}

// The module, unpacked. weft.html carries it; a hosted page fetches it from beside itself.
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
	let runs = false; // the module
	ready = new Promise((resolve) => {
		const drop = (why) => { if (started === worker) dropWorker(why); };
		started.onmessage = ({ data }) => {
			if (started !== worker) return;
			if (data.ready) {
				URL.revokeObjectURL(address);
				runs = true;
				resolve();
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

// endedText says why the module has ended: for want of memory, or by a mistake in it.
function endedText(reason) {
	return /^(fatal error|runtime|RangeError): .*memory/.test(reason) ? "This is more than a browser holds. The command weft convert does it, with files of any size." :
		`weft has failed, please report it: ${reason || "it ended without a reason"}. The command weft convert may do it.`;
}

// dropWorker ends the worker. What it was asked fails, with why.
function dropWorker(why) {
	const failed = task;
	if (worker) worker.terminate();
	worker = ready = task = null;
	if (failed) failed.reject(new Error(why));
}

// answer handles what the worker says of its task.
function answer(data) {
	if ("progress" in data) {
		progressOf(data.progress);
		if (data.memory > muchMemory) show("large", true); // what is packed says so late
	} else if ("chunk" in data) {
		task.chunks.push(new Blob([data.chunk])); // a Blob need not be in memory
	} else {
		const ended = task;
		task = null;
		if ("done" in data) ended.resolve({ result: data.done, chunks: ended.chunks });
		else ended.reject(new Error(data.failed));
	}
}

// ask has the worker do something as soon as it is ready: one thing at a time.
function ask(what, file) {
	if (!worker) startWorker();
	const options = { attribute: $("attribute").checked };
	return new Promise((resolve, reject) => {
		const mine = { chunks: [], resolve, reject };
		task = mine;
		ready.then(() => { if (task === mine) worker.postMessage({ what, file, options }); });
	});
}

function progressOf(bytes) {
	const share = input.size > 0 ? bytes / input.size : 1;
	$("progress").value = share * 0.7; // resolving and writing follow
	$("status").textContent = share < 1 ? `${size(bytes)} of ${size(input.size)} read` : "Read; resolving and writing";
}

async function convert(file) {
	if (task) dropWorker("stopped");
	input = file;
	output = null;
	reporting = null;
	reportText = "";
	for (const id of ["result", "problem", "page", "save", "stands-out"]) show(id, false);
	document.querySelector("main").classList.remove("wide");
	$("page").removeAttribute("srcdoc");
	$("drop").classList.add("small");
	$("drop-title").textContent = "Drop another trace";
	if (file.size > mostBytes) {
		fail(`${printable(file.name)} has ${size(file.size)}. This is more than a browser holds: weft convert does it.`);
		return;
	}
	working(file.name, "Starting");
	show("large", file.size > manyBytes);
	try {
		const began = performance.now();
		const { result, chunks } = await ask("convert", file);
		if (file !== input) return;
		output = new Blob(chunks, { type: "application/octet-stream" });
		const said = JSON.parse(result);
		showResult(said, performance.now() - began);
		standsOut(said.bytes_unpacked > manyBytes);
	} catch (err) {
		if (file === input) fail(`${printable(file.name)}: ${err.message}`);
	} finally {
		if (file === input) show("work", false);
	}
}

function working(name, status) {
	$("name").textContent = printable(name);
	$("status").textContent = status;
	$("progress").value = 0;
	show("large", false);
	show("work", true);
}

function fail(text) {
	show("work", false);
	say(text);
}

// say shows what is wrong, beside what is under way.
function say(text) {
	$("said").textContent = text.split("\n").map(printable).join("\n");
	show("problem", true);
}

function showResult(report, ms) {
	$("what").textContent = printable(input.name);
	$("hint").textContent = "";
	const e = report.events, t = report.tracks;
	const unpacked = report.bytes_unpacked !== report.bytes_in ? ` (${size(report.bytes_unpacked)} unpacked)` : "";
	facts({
		format: [report.format, ...(report.containers || [])].join(" in "),
		file: `${size(report.bytes_in)}${unpacked} → ${size(report.bytes_out)}, in ${seconds(ms / 1000)}`,
		length: report.span ? `${seconds((report.span.end_ns - report.span.start_ns) / 1e9)}, ${count(t.threads, "thread")} of ${count(t.processes, "process", "processes")}` : "no events",
		events: [
			[e.slices, "slice"], [e.instants, "instant"], [e.counter_values, "counter value"], [e.samples, "sample"], [e.flows, "flow"], [e.screenshots, "screenshot"],
		].filter(([n]) => n > 0).map(([n, word]) => count(n, word)).join(", "),
		contexts: (report.contexts || []).join(", "),
	});
	problems(report);
	show("problem", false);
	show("result", true);
	$("perfetto").disabled = output.size > mostHandedOver;
	if (output.size > mostHandedOver) $("hint").textContent = "The trace is larger than what a page can hand over: download it, and open it in Perfetto from there.";
}

function facts(list) {
	$("facts").replaceChildren(...Object.entries(list).filter(([, text]) => text).flatMap(([label, text]) => [element("dt", label), element("dd", text)]));
}

// problems lists what most recordings of the format do not have; the rest is one click away.
function problems(report) {
	const usual = new Set(report.usual || []);
	const line = (p) => element("li", `${p.sentence} (${count(p.count, "time")})`);
	const first = report.problems.filter((p) => p.severity !== "info" && !usual.has(p.name));
	const rest = report.problems.filter((p) => !first.includes(p));
	$("lost").replaceChildren(...first.map(line));
	show("lost", first.length > 0);
	show("minor", rest.length > 0);
	$("minor").open = false;
	$("minor").querySelector("summary").textContent = `${count(rest.length, "note")} as usual for this format`;
	$("minor").querySelector("ul").replaceChildren(...rest.map(line));
	show("problems", report.problems.length > 0);
}

function element(name, text) {
	const e = document.createElement(name);
	e.textContent = text;
	return e;
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

let lastHint = null; // of what was asked for last

// hinter returns a function that says in the hint how something goes that was asked for. It is silent when there is another file, or when something
// else was asked for since.
function hinter() {
	const file = input, mine = lastHint = {};
	return (text) => {
		if (file === input && mine === lastHint) $("hint").textContent = text;
	};
}

// traceName is the name of the output: that of the input without its endings.
const traceName = () => input.name.replace(/\.(gz|zst|zip)$/i, "").replace(/\.(json|cpuprofile|pftrace|perfetto-trace|txt|log)$/i, "") + ".pftrace";

// openPerfetto opens the UI in a tab and hands the trace over when it listens. What was sent before is lost without a word, so that
// it is asked until it answers; several answers may be under way.
function openPerfetto() {
	const trace = output, title = printable(input.name), name = traceName(), hint = hinter();
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
		tab.postMessage({ perfetto: { buffer, title, fileName: name } }, perfettoUI, [buffer]);
	};
	const stop = () => {
		clearInterval(ping);
		clearTimeout(late);
		removeEventListener("message", listen);
	};
	addEventListener("message", listen);
}

// makeReport has the report of input made, once.
function makeReport() {
	const file = input;
	reporting ||= ask("report", file).then(({ result }) => {
		if (file === input) reportText = result;
		return result;
	});
	return reporting;
}

// standsOut shows what the report says first, which is made when the trace is there: that can be opened and saved meanwhile. A large
// file is not read once more before its report is asked for.
async function standsOut(large) {
	const file = input;
	$("findings").replaceChildren();
	$("looking").textContent = large ? "This takes long for a file of this size. Click Report to see it." : "Looking into the trace";
	show("stands-out", true);
	if (large) return;
	try {
		await makeReport();
		if (file === input) showFindings();
	} catch (err) {
		if (file !== input) return;
		reporting = null; // the button tries again
		$("looking").textContent = `There is no report: ${printable(err.message)}`;
	}
}

// showFindings shows the verdict of the report, and what to change.
function showFindings() {
	const page = new DOMParser().parseFromString(reportText, "text/html");
	$("findings").replaceChildren(...[...page.querySelectorAll("h1, #issues h3")].map(sentence));
	$("looking").textContent = "";
}

// sentence makes an item of one of the report: its text, with what is bold.
function sentence(said) {
	const li = document.createElement("li");
	li.append(...[...said.childNodes].map((n) => n.nodeName === "B" ? element("b", n.textContent) : n.textContent));
	return li;
}

async function report() {
	const file = input;
	if (reportText === "") {
		$("report").disabled = true;
		show("problem", false);
		working(file.name, "Making the report");
		try {
			await makeReport();
		} catch (err) {
			if (file === input) {
				reporting = null;
				fail(`${printable(file.name)}: ${err.message}`);
			}
			return;
		} finally {
			$("report").disabled = false;
			if (file === input) show("work", false);
		}
		if (file !== input) return;
		showFindings();
	}
	document.querySelector("main").classList.add("wide");
	$("page").srcdoc = reportText;
	show("page", true);
	show("save", true);
}

// printable escapes in a text what is not seen, or changes how the text around it is shown, as marks of direction do. The joiners of scripts and of
// emoji stay.
const printable = (text) => text.replace(/(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}]/gu, (c) => {
	const code = c.codePointAt(0).toString(16);
	return code.length > 4 ? `\\U${code.padStart(8, "0")}` : `\\u${code.padStart(4, "0")}`;
});
const size = (bytes) => bytes < 1024 ? `${bytes}\u00a0bytes` : bytes < 1024 ** 2 ? `${(bytes / 1024).toFixed(1)}\u00a0KiB` : bytes < 1024 ** 3 ? `${(bytes / 1024 ** 2).toFixed(1)}\u00a0MiB` : `${(bytes / 1024 ** 3).toFixed(2)}\u00a0GiB`;
const seconds = (s) => s < 1 ? `${(s * 1000).toFixed(0)}\u00a0ms` : s < 120 ? `${s.toFixed(2)}\u00a0s` : `${(s / 60).toFixed(1)}\u00a0min`;
const count = (n, one, many = one + "s") => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;

$("file").addEventListener("change", () => {
	if ($("file").files.length > 0) convert($("file").files[0]);
	$("file").value = ""; // so that the same file can be chosen again
});
// Wherever it is dropped: a browser would leave the page for the file otherwise.
addEventListener("dragover", (event) => { event.preventDefault(); $("drop").classList.add("over"); });
addEventListener("dragleave", (event) => { if (!event.relatedTarget) $("drop").classList.remove("over"); });
addEventListener("drop", (event) => {
	event.preventDefault();
	$("drop").classList.remove("over");
	const files = event.dataTransfer.files;
	if (files.length > 1) say("One file at a time: weft convert takes several.");
	else if (files.length === 1) convert(files[0]);
});
$("stop").addEventListener("click", () => { dropWorker("stopped"); });
$("download").addEventListener("click", downloadTrace);
$("perfetto").addEventListener("click", openPerfetto);
$("report").addEventListener("click", report);
$("save").addEventListener("click", () => download(new Blob([reportText], { type: "text/html" }), `${traceName().replace(/\.pftrace$/, "")}.report.html`));
startWorker();
