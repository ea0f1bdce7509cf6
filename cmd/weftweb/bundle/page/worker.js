// The worker of weft.html. It follows wasm_exec.js in one text, and talks with page.js:
//
//	in   {module}                                   once: the module, compiled
//	in   {what: "convert" | "report", file, options}
//	out  {ready} · {progress} · {chunk} · {done} · {failed} · {ended}
//
// A module that has run out of memory ends, and takes what it held with it: {ended}.
"use strict";

onmessage = async ({ data }) => {
	if (data.module) {
		try {
			const go = new Go();
			go.run(await WebAssembly.instantiate(data.module, go.importObject)).then(() => postMessage({ ended: "" }), (err) => postMessage({ ended: String(err) }));
			postMessage({ ready: true });
		} catch (err) {
			postMessage({ ended: String(err) });
		}
		return;
	}
	const on = {
		progress: (bytes) => postMessage({ progress: bytes }),
		chunk: (piece) => postMessage({ chunk: piece }, [piece.buffer]),
		done: (result) => postMessage({ done: result }),
		failed: (text) => postMessage({ failed: text }),
	};
	try {
		weft[data.what](data.file, data.options, on);
	} catch (err) {
		postMessage({ ended: String(err) });
	}
};
