#!/usr/bin/env python3
# weft schema --descriptors >weft.binpb
# weft export --as proto -o - trace.json | python3 events.py weft.binpb
#
# With protobuf 3.20 or later (Debian: python3-protobuf). No generated code.
import sys
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory


def records(stream):
    """Yields the messages, each of which comes behind its length as a varint."""
    while byte := stream.read(1):
        size = byte[0] & 127
        shift = 7
        while byte and byte[0] > 127:
            byte = stream.read(1)
            size |= (byte or b"\0")[0] % 128 << shift
            shift += 7
        message = stream.read(size)
        if len(message) < size or not byte:
            sys.exit("the stream is cut: it ends inside a record")
        yield message


with open(sys.argv[1], "rb") as f:
    files = descriptor_pb2.FileDescriptorSet.FromString(f.read())
pool = descriptor_pool.DescriptorPool()
for file in files.file:
    pool.AddSerializedFile(file.SerializeToString())
descriptor = pool.FindMessageTypeByName("weft.v1.Record")
if hasattr(message_factory, "GetMessageClass"):
    Record = message_factory.GetMessageClass(descriptor)
else:  # before 4.22
    Record = message_factory.MessageFactory(pool).GetPrototype(descriptor)

events = dur_ns = 0
footer = None
for message in records(sys.stdin.buffer):
    record = Record.FromString(message)
    kind = record.WhichOneof("record")
    if kind == "event":
        events += 1
        dur_ns += record.event.dur_ns
    elif kind == "footer":
        footer = record.footer
if footer is None:
    sys.exit("the stream is incomplete: it has no footer")
print(events, dur_ns)
