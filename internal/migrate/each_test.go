package migrate

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"
)

// Short inputs are read at once, whatever size was known before.
func TestWhole(t *testing.T) {
	var w Worker
	for _, length := range []int{0, 10, maxWhole, maxWhole + 1, 2 * maxWhole} {
		content := bytes.Repeat([]byte("weft"), length/4+1)[:length]
		for _, size := range []int64{-1, 0, int64(length), maxWhole, maxWhole + 1} {
			in, err := w.whole(iotest.HalfReader(bytes.NewReader(content)), size)
			if err != nil {
				t.Fatal(err)
			}
			memory, inMemory := in.(*bytes.Reader)
			if want := size >= 0 && size <= maxWhole && length <= maxWhole; inMemory != want {
				t.Errorf("%d bytes of %d: in memory %v; want %v", length, size, inMemory, want)
			}
			if inMemory && memory.Len() != length {
				t.Errorf("%d bytes of %d: %d are in memory", length, size, memory.Len())
			}
			if got, err := io.ReadAll(in); err != nil || !bytes.Equal(got, content) {
				t.Errorf("%d bytes of %d: read %d, %v", length, size, len(got), err)
			}
		}
	}
	broken := errors.New("broken")
	if _, err := w.whole(iotest.ErrReader(broken), 10); err != broken {
		t.Errorf("error %v; want %v", err, broken)
	}
}
