package main

import (
	"bytes"
	"testing"
)

// Numbers stand below each other whatever script the names are in: wide characters take two columns, marks none.
func TestTableOfWideNames(t *testing.T) {
	tb := table{title: "Functions", columns: []column{texts("name", "function"), counts("n", "samples"), texts("url", "where")}}
	for i, name := range []string{"layout", "計算量", "gro\u0308ße", "テスト"} {
		tb.rows = append(tb.rows, []cell{textCell(name), countCell(int64(9 << (4 * i))), textCell("a.js")})
	}
	const want = `
  Functions
  function  samples  where
  layout          9  a.js
  計算量        144  a.js
  gro` + "\u0308" + `ße        2304  a.js
  テスト      36864  a.js
`
	var b bytes.Buffer
	if tb.writeText(&b); b.String() != want {
		t.Errorf("got %s\nwant %s", b.String(), want)
	}
}
