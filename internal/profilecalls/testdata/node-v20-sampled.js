// node-v20-sampled.json.gz is a recording of Node 20 running this program, with V8's own events:
//
//     node --trace-events-enabled --trace-event-categories v8,v8.execute,disabled-by-default-v8.gc,disabled-by-default-v8.compile,disabled-by-default-v8.cpu_profiler,disabled-by-default-v8.cpu_profiler.hires node-v20-sampled.js

const { Worker, isMainThread, parentPort } = require('worker_threads'); const http = require('http'), zlib = require('zlib'), crypto = require('crypto'), fs = require('fs');
function garbage(n) { const a = []; for (let i = 0; i < n; i++) a.push({ i, s: 'x' + i, v: [i] }); return a.map(o => o.s + o.v.join('-')).filter(s => s.length > 4).sort(); }
const keep = [];
function grow() { for (let i = 0; i < 200; i++) keep.push(garbage(30)); if (keep.length > 3000) keep.length = 0; }
function compute(n) { let s = 0; for (let k = 1; k < n; k++) s += Math.sin(k) * Math.cos(k); return s; }
async function step(n) { await Promise.resolve(); compute(30000); await null; garbage(1000); grow(); }
if (isMainThread) {
  const s = http.createServer((q, r) => { const b = zlib.gzipSync(JSON.stringify(garbage(300))); r.end(b); }).listen(0, '127.0.0.1', () => {
    const port = s.address().port; let n = 0;
    const t = setInterval(async () => { http.get({ host: '127.0.0.1', port }, r => { r.on('data', d => zlib.gunzipSync(d)); }); await step(n++); (0, eval)('function f' + n + '(){return compute2(' + n + ')} function compute2(x){let s=0;for(let i=0;i<300000;i++)s+=i%x;return s} f' + n + '()'); }, 20);
    const w = new Worker(__filename); setTimeout(() => { clearInterval(t); s.close(); w.terminate(); process.exit(); }, 700);
  });
} else setInterval(() => { compute(200000); garbage(2000); }, 10);
