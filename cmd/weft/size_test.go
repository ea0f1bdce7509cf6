package main

import "testing"

func TestFormatSize(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 1023: "1023 B", 1 << 10: "1.0 KiB", 1536: "1.5 KiB", 100 << 10: "100 KiB", 999 << 10: "999 KiB",
		1000 << 10: "1.0 MiB", 256 << 20: "256 MiB", 1 << 62: "4.0 EiB",
	} {
		if got := formatSize(n); got != want {
			t.Errorf("formatSize(%d) = %q; want %q", n, got, want)
		}
	}
}
