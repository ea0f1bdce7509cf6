// The worker of weft.html. It is appended to wasm_exec.js, and exchanges messages with page.js:
//
//	in   {module}                                   once: the module, compiled
//	in   {what: "open" | "compare" | "sum", files, options, practice}
//	out  {ready} · {progress, memory} · {report} · {unreported} · {chunk} · {done} · {failed} · {practised} · {ended}
//
// Practice posts nothing but {practised}. Browsers compile a function when it is first called, and optimise it after it has run for some time, so a
// file that comes after practice is read faster.
// progress includes the memory in use. A module that runs out of memory, or has a bug, ends and loses its data: {ended}, with Go's message.
"use strict";

// Go writes the reason to standard error, in pieces.
let heard = "";
const decoder = new TextDecoder();
const write = fs.writeSync;
fs.writeSync = (fd, bytes) => {
	if (heard.length < 10_000) heard += decoder.decode(bytes);
	return write(fd, bytes);
};
const reason = () => (heard.split("\n").find((line) => /^(panic|fatal error|runtime): /.test(line)) ?? "").slice(0, 500);

onmessage = async ({ data }) => {
	if (data.module) {
		try {
			const go = new Go();
			go.run(await WebAssembly.instantiate(data.module, go.importObject)).then(() => postMessage({ ended: reason() }), (err) => postMessage({ ended: reason() || String(err) }));
			postMessage({ ready: true });
		} catch (err) {
			postMessage({ ended: String(err) });
		}
		return;
	}
	const practised = () => postMessage({ practised: true });
	const on = data.practice ? { progress() {}, report() {}, unreported() {}, chunk() {}, done: practised, failed: practised } : {
		progress: (bytes, memory) => postMessage({ progress: bytes, memory }),
		report: (html) => postMessage({ report: html }),
		unreported: (text) => postMessage({ unreported: text }),
		chunk: (piece) => postMessage({ chunk: piece }, [piece.buffer]),
		done: () => postMessage({ done: true }),
		failed: (text) => postMessage({ failed: text }),
	};
	try {
		weft[data.what](data.files, data.options, on);
	} catch (err) {
		postMessage({ ended: String(err) });
	}
};
