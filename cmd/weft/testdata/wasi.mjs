// Runs a WebAssembly program for WASI under Node.js: node wasi.mjs PROGRAM ARG…
import { readFileSync } from 'node:fs';
import { WASI } from 'node:wasi';

const [program, ...args] = process.argv.slice(2);
const wasi = new WASI({
	version: 'preview1',
	args: [program, ...args],
	env: process.env,
	preopens: { '/': '/' },
	returnOnExit: true,
});
const module = await WebAssembly.compile(readFileSync(program));
process.exitCode = wasi.start(await WebAssembly.instantiate(module, wasi.getImportObject()));
