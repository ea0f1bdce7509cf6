package main

import (
	"bytes"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protodelim"

	weftv1 "github.com/weft-trace/weft/gen/weft/v1"
)

// A stream of a later version of weft is read as far as it is known, and a message says that there is more.
func TestLaterStream(t *testing.T) {
	var stream bytes.Buffer
	for _, r := range []*weftv1.Record{
		{Record: &weftv1.Record_Header{Header: &weftv1.Header{Magic: "weft.v1", Revision: 1000}}},
		{Record: &weftv1.Record_Event{Event: &weftv1.Event{TsNs: 1, Id: 1, Kind: 100}}},
		{Record: &weftv1.Record_Event{Event: &weftv1.Event{TsNs: 2, Id: 2, Kind: weftv1.Kind_KIND_INSTANT}}},
		{Record: &weftv1.Record_Footer{Footer: &weftv1.Footer{Complete: true, Events: []*weftv1.EventCount{{Kind: 100, Count: 1}, {Kind: weftv1.Kind_KIND_INSTANT, Count: 1}}}}},
	} {
		if _, err := protodelim.MarshalTo(&stream, r); err != nil {
			t.Fatal(err)
		}
	}
	c := newConsole(&stream, false)
	code := run(t.Context(), []string{"weft", "export", "--as", "jsonl", "--strict", "-o", "-", "-"}, &c.environment)
	want := "the stream is from a later version of weft; what this one does not know was passed over; stream_newer ×2\n"
	if code != exitOK || !strings.HasSuffix(c.err.String(), want) {
		t.Errorf("exit code %d: %s", code, c.err.String())
	}
	if got, want := c.out.String(), `{"ts_ns":2,"kind":"instant","id":2}`+"\n"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
