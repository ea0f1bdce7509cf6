package migrate

import "testing"

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "1000000": 1e6, "256MiB": 256 << 20, "256mib": 256 << 20, "64MB": 64e6, "1.5G": 3 << 29,
		"8 KiB": 8 << 10, "3k": 3 << 10, "12b": 12, "2GB": 2e9,
	} {
		if got, err := ParseSize(text); err != nil || got != want {
			t.Errorf("ParseSize(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "MiB", "-1", "x", "1TiB", "NaN", "inf", "1e30", "0x10MiB.."} {
		if got, err := ParseSize(text); err == nil {
			t.Errorf("ParseSize(%q) = %d; want an error", text, got)
		}
	}
}
