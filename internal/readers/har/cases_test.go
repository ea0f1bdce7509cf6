package har

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/readertest"
	"github.com/weft-trace/weft/internal/timeline"
)

// suite runs the cases, with windows of several sizes and with sorting on disk.
var suite = readertest.Spooled(Read,
	problem.HARValueInvalid, problem.HARTimeWithoutZone, problem.HARTimeMismatch, problem.HARRequestUnknown,
	// From other groups, also found by this reader:
	problem.PageUnknown, problem.EventInvalidTimestamp, problem.EventNegativeTimestamp, problem.EventUnknownMember,
	problem.TopLevelMemberSkipped, problem.ArgDepthLimit, problem.JSONNotAnEvent, problem.JSONUnterminated, problem.JSONDuplicateKey,
	problem.MetadataValueOmitted,
)

// TestCases compares the results of the inputs in testdata with the expected ones.
func TestCases(t *testing.T) { suite.Run(t) }

// ISO 8601 times, in nanoseconds since 1970. The expected seconds are from date -u -d.
func TestISOTime(t *testing.T) {
	for _, test := range []struct {
		text string
		ns   timeline.Nanos
		zone zone
	}{
		{"2024-02-29T12:34:56Z", 1709210096_000000000, zoned},
		{"2024-02-29T12:34:56.1Z", 1709210096_100000000, zoned},
		{"2024-02-29T12:34:56.123456789Z", 1709210096_123456789, zoned},
		{"2024-02-29T12:34:56.9999999999Z", 1709210096_999999999, zoned},
		{"2024-02-29T12:34:56." + strings.Repeat("1", 1<<10) + "+01:00", 1709206496_111111111, zoned},
		{"2024-02-29T12:34:56." + strings.Repeat("1", 1<<10), 1709210096_111111111, unzoned},
		{"2024-02-29T12:34:56.123+01:00", 1709206496_123000000, zoned},
		{"2024-02-29T12:34:56.123-0530", 1709229896_123000000, zoned},
		{"2024-02-29T12:34:56+02", 1709202896_000000000, zoned},
		{"2024-02-29T12:34Z", 1709210040_000000000, zoned},
		{"2024-02-29T12:34+01:00", 1709206440_000000000, zoned},
		{"2024-02-29T12:34", 1709210040_000000000, unzoned},
		{" 2024-02-29 12:34:56,5z ", 1709210096_500000000, zoned},
		{"2024-02-29T12:34:56.5", 1709210096_500000000, unzoned},
		{"2016-12-31T23:59:60Z", 1483228800_000000000, zoned}, // a leap second
		{"2017-01-01T00:59:60.25+01:00", 1483228800_250000000, zoned},
		{"2024-02-29T24:00:00Z", 1709251200_000000000, zoned},
		{"2024-02-29T24:00", 1709251200_000000000, unzoned},
		{"1969-12-31T23:59:59.25Z", -750000000, zoned},
		{"2023-02-29T12:34:56Z", 0, noTime},
		{"2024-13-01T00:00:00Z", 0, noTime},
		{"2024-00-01T00:00:00Z", 0, noTime},
		{"2024-01-00T00:00:00Z", 0, noTime},
		{"2024-01-01T25:00:00Z", 0, noTime},
		{"2024-01-01T00:60:00Z", 0, noTime},
		{"2024-01-01T00:00:61Z", 0, noTime},
		{"2024-01-01T00:00:600Z", 0, noTime},
		{"2024-01-01T0:00:00Z", 0, noTime},
		{"2024-01-01T00:00.5Z", 0, noTime},
		{"2024-01-01T00:00:00.Z", 0, noTime},
		{"2024-01-01T00:00:00+25:00", 0, noTime},
		{"2024-01-01T00:00:00 CET", 0, noTime},
		{"2024-01-01T00:00:00.123+01:00" + strings.Repeat("1", 1<<10), 0, noTime},
		{"2024-01-01T00:00:00Z" + strings.Repeat("1", 1<<10), 0, noTime},
		{"2024-01-01T00:00:00." + strings.Repeat("1", 1<<10) + strings.Repeat("Z", 1<<10), 0, noTime},
		{strings.Repeat("x", 1<<10), 0, noTime},
		{"\xff024-01-01Tıııı", 0, noTime},
		{"ıııııı\xff:ıı", 0, noTime},
		{"2024-01-01", 0, noTime},
		{"9999-01-01T00:00:00Z", 0, noTime},
		{"0001-01-01T00:00:00Z", 0, noTime},
		{"1709210096", 0, noTime},
		{"", 0, noTime},
	} {
		if ns, zone := isoTime([]byte(test.text)); ns != test.ns || zone != test.zone {
			t.Errorf("%q: %d, zone %d, want %d, zone %d", test.text, ns, zone, test.ns, test.zone)
		}
	}
}

// FuzzRead checks that no input makes the reader panic, and that the result is a valid trace and the same when entries
// are sorted on disk.
func FuzzRead(f *testing.F) {
	for _, c := range readertest.Cases(f) {
		f.Add([]byte(c.Input), int64(0))
	}
	f.Add([]byte(`{"log":{"entries":[{"startedDateTime":"1970-01-01T00:00:01Z","time":1}]}}`), int64(-1_000_000_000))
	f.Fuzz(func(t *testing.T, data []byte, offset int64) {
		var dumps [2]string
		for i, spool := range []int64{0, 1} {
			dumps[i] = suite.Dump(t, bytes.NewReader(data), readers.Options{Offset: timeline.Nanos(offset), Spool: spool, Window: 64 * i})
		}
		if dumps[0] != dumps[1] {
			t.Errorf("sorting on disk gives something else: %s", cmp.Diff(dumps[0], dumps[1]))
		}
	})
}

// Each redirect without a following request is counted, even if more redirects lead to one address than are stored.
func TestManyRedirects(t *testing.T) {
	const count = maxPerAddress + 10
	var entries []string
	for i := range count {
		entries = append(entries, fmt.Sprintf(`{"startedDateTime":"2026-01-01T00:00:%02d.000Z","time":1,"request":{"method":"GET","url":"http://a.test/%[1]d"},`+
			`"response":{"status":302,"redirectURL":"http://a.test/end"}}`, i%60))
	}
	_, log, err := suite.Load(t, strings.NewReader(`{"log":{"entries":[`+strings.Join(entries, ",")+`]}}`), readers.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if n := log.Count(problem.HARRequestUnknown); n != count {
		t.Errorf("%d redirects are counted, want %d", n, count)
	}
}
