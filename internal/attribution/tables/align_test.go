package tables

import "testing"

// Columns are those of a terminal, where some characters take two and others none.
func TestAlignWideNames(t *testing.T) {
	got := align([][]string{{"CONTEXT", "ms"}, {"計算量", "1.0"}, {"gro\u0308ße", "20.0"}}, 1)
	const want = "CONTEXT    ms\n計算量    1.0\ngro\u0308ße    20.0\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
