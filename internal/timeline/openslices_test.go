package timeline

import "testing"

// Slices are removed innermost first, including slices that end at the given time, and their values can be reused.
func TestOpenSlices(t *testing.T) {
	var open OpenSlices[[]int]
	if open.Innermost() != nil || open.Ended(noEnd) != nil || open.Find(0) != -1 {
		t.Error("a slice is open from the start")
	}
	for i, end := range []Nanos{noEnd, 30, 20, 20, 10} {
		*open.Push(end) = []int{i}
	}
	for _, test := range []struct {
		at   Nanos
		want int
	}{{9, 4}, {10, 3}, {19, 3}, {20, 1}, {30, 0}, {noEnd, -1}} {
		if got := open.Find(test.at); got != test.want {
			t.Errorf("at %d slice %d is the innermost, want %d", test.at, got, test.want)
		}
	}
	if s := open.Ended(9); s != nil {
		t.Errorf("slice %v has ended at 9", *s)
	}
	if s := open.Ended(10); s == nil || (*s)[0] != 4 {
		t.Errorf("slice %v has ended at 10, want 4", s)
	}
	open.Pop()
	if open.Close(20); open.Len() != 2 || (*open.Innermost())[0] != 1 || open.End(1) != 30 || (*open.At(0))[0] != 0 {
		t.Errorf("%d slices are open, the innermost is %v", open.Len(), *open.Innermost())
	}
	if s := open.Push(25); (*s)[0] != 2 {
		t.Errorf("the place of slice 2 holds %v", *s)
	}
}
