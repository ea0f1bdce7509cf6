package main

import "testing"

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "1000000": 1e6, "256MiB": 256 << 20, "256mib": 256 << 20, "64MB": 64e6, "1.5G": 3 << 29,
		"8 KiB": 8 << 10, "3k": 3 << 10, "12b": 12, "2GB": 2e9,
	} {
		if got, err := parseSize(text); err != nil || got != want {
			t.Errorf("parseSize(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "MiB", "-1", "x", "1TiB", "NaN", "inf", "1e30", "0x10MiB.."} {
		if got, err := parseSize(text); err == nil {
			t.Errorf("parseSize(%q) = %d; want an error", text, got)
		}
	}
}

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
