// weft schema --descriptors >weft.binpb
// weft export --as proto -o - trace.json | node events.mjs weft.binpb
//
// With @bufbuild/protobuf 2, without generated code. 64-bit numbers are BigInt.
import { readFileSync } from "node:fs";
import { createFileRegistry, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { sizeDelimitedDecodeStream } from "@bufbuild/protobuf/wire";

const files = fromBinary(FileDescriptorSetSchema, readFileSync(process.argv[2]));
const Record = createFileRegistry(files).getMessage("weft.v1.Record");

let events = 0, durNs = 0n, footer;
try {
  for await (const { record } of sizeDelimitedDecodeStream(Record, process.stdin)) {
    if (record.case === "event") {
      events++;
      durNs += record.value.durNs ?? 0n;
    } else if (record.case === "footer") {
      footer = record.value;
    }
  }
} catch (err) {
  console.error(`the stream is cut: ${err.message}`);
  process.exit(1);
}
if (!footer) {
  console.error("the stream is incomplete: it has no footer");
  process.exit(1);
}
console.log(`${events} ${durNs}`);
