// weft schema --descriptors >weft.binpb
// weft export --as proto -o - trace.json | node events-protobufjs.mjs weft.binpb
//
// With protobufjs 8. 64-bit numbers are Long: toNumber is exact up to 2^53, which durations are and times since 1970 are not.
import { readFileSync } from "node:fs";
import protobuf from "protobufjs";
import descriptor from "protobufjs/ext/descriptor/index.js";

const files = descriptor.FileDescriptorSet.decode(readFileSync(process.argv[2]));
const Record = protobuf.Root.fromDescriptor(files).resolveAll().lookupType("weft.v1.Record");

let events = 0, durNs = 0, footer;
function take(record) {
  if (record.event) {
    events++;
    if (record.event.durNs) durNs += record.event.durNs.toNumber();
  } else if (record.footer) {
    footer = record.footer;
  }
}

let rest = Buffer.alloc(0);
for await (const chunk of process.stdin) {
  const reader = protobuf.Reader.create(rest.length ? Buffer.concat([rest, chunk]) : chunk);
  let start = 0;
  while (reader.pos < reader.len) {
    try {
      take(Record.decodeDelimited(reader));
    } catch (err) {
      if (!(err instanceof RangeError)) throw err;
      break; // the rest of the record comes with the next chunk
    }
    start = reader.pos;
  }
  rest = reader.buf.subarray(start);
}
if (rest.length || !footer) {
  console.error(rest.length ? "the stream is cut: it ends inside a record" : "the stream is incomplete: it has no footer");
  process.exit(1);
}
console.log(`${events} ${durNs}`);
