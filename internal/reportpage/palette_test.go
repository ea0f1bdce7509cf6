package reportpage

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/timeline"
)

// sight converts linear RGB to the colours seen by people who lack one kind of cones: the matrices of Machado, Oliveira and
// Fernandes (2009), severity 1.
var sight = map[string][3][3]float64{
	"all colours":  {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	"protanopia":   {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
	"deuteranopia": {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
}

// linear returns the linear RGB of a colour #rrggbb.
func linear(t *testing.T, colour string) (rgb [3]float64) {
	t.Helper()
	for i := range rgb {
		n, err := strconv.ParseUint(colour[1+2*i:3+2*i], 16, 8)
		if err != nil {
			t.Fatal(colour, err)
		}
		if rgb[i] = float64(n) / 255; rgb[i] <= 0.04045 {
			rgb[i] /= 12.92
		} else {
			rgb[i] = math.Pow((rgb[i]+0.055)/1.055, 2.4)
		}
	}
	return rgb
}

// contrast returns the contrast ratio of WCAG 2.
func contrast(t *testing.T, a, b string) float64 {
	light := func(c string) float64 {
		rgb := linear(t, c)
		return 0.2126*rgb[0] + 0.7152*rgb[1] + 0.0722*rgb[2] + 0.05
	}
	return max(light(a)/light(b), light(b)/light(a))
}

// lab returns the CIE Lab of a colour as people see it.
func lab(t *testing.T, colour string, cones [3][3]float64) [3]float64 {
	rgb, seen := linear(t, colour), [3]float64{}
	for i := range seen {
		seen[i] = min(max(cones[i][0]*rgb[0]+cones[i][1]*rgb[1]+cones[i][2]*rgb[2], 0), 1)
	}
	f := func(v float64) float64 {
		if v > 216.0/24389 {
			return math.Cbrt(v)
		}
		return (24389.0/27*v + 16) / 116
	}
	x := f((0.4124564*seen[0] + 0.3575761*seen[1] + 0.1804375*seen[2]) / 0.95047)
	y := f(0.2126729*seen[0] + 0.7151522*seen[1] + 0.0721750*seen[2])
	z := f((0.0193339*seen[0] + 0.1191920*seen[1] + 0.9503041*seen[2]) / 1.08883)
	return [3]float64{116*y - 16, 500 * (x - y), 200 * (y - z)}
}

// palettes returns the colours of the style by theme, then by name.
func palettes() map[string]map[string]string {
	themes := map[string]map[string]string{}
	for line := range strings.Lines(css) {
		name := ""
		switch {
		case strings.HasPrefix(line, ":root{--bg:"):
			name = "light"
		case strings.HasPrefix(line, ":root[data-theme=dark]{--bg:"):
			name = "dark by the button"
		case strings.HasPrefix(line, "@media (prefers-color-scheme:dark){:root:not([data-theme=light]){--bg:"):
			name = "dark"
		case strings.HasPrefix(line, ":root,:root[data-theme=dark]{--bg:"):
			name = "paper"
		default:
			continue
		}
		themes[name] = map[string]string{}
		for _, m := range regexp.MustCompile(`--([a-z0-9]+):(#[0-9a-f]{3,6})`).FindAllStringSubmatch(line, -1) {
			if len(m[2]) == 4 {
				m[2] = "#" + strings.Repeat(m[2][1:2], 2) + strings.Repeat(m[2][2:3], 2) + strings.Repeat(m[2][3:4], 2)
			}
			themes[name][m[1]] = m[2]
		}
	}
	if paper := themes["paper"]; paper != nil { // other colours come from the light theme
		for k, v := range themes["light"] {
			if paper[k] == "" {
				paper[k] = v
			}
		}
	}
	return themes
}

// Colours that occur together stand out from the page and from each other, also for people who see fewer colours.
func TestPalette(t *testing.T) {
	var kinds []string
	for i := range maxClasses {
		kinds = append(kinds, numbered(i))
	}
	sets := [][]string{{"script", "rendering", "painting", "loading", "gc", "other"}, append(kinds, "other")}
	themes := palettes()
	if len(themes) != 4 {
		t.Fatalf("%d themes", len(themes))
	}
	for name, theme := range themes {
		for _, class := range slices.Concat(append(sets, []string{"plain"})...) {
			for _, ground := range []string{"bg", "ground"} {
				if c := contrast(t, theme[class], theme[ground]); c < 3 {
					t.Errorf("%s: %s has a contrast of %.2f to %s", name, class, c, ground)
				}
			}
		}
		for _, set := range sets {
			for i, a := range set {
				for _, b := range set[:i] {
					for who, cones := range sight {
						x, y := lab(t, theme[a], cones), lab(t, theme[b], cones)
						if d := math.Hypot(math.Hypot(x[0]-y[0], x[1]-y[1]), x[2]-y[2]); d < 20 {
							t.Errorf("%s: %s and %s are %.1f apart with %s", name, a, b, d, who)
						}
					}
				}
			}
		}
	}
}

// Ticks of axes are multiples of 1, 2 or 5 times a power of ten from the start of the recording.
func TestTicks(t *testing.T) {
	for _, c := range []struct {
		start, length, most, first, step int64
		n                                int
	}{
		{0, 100, 6, 0, 20, 6}, {1621, 2721, 6, 2000, 500, 5}, {7, 5, 6, 7, 1, 6}, {0, 0, 6, 0, 1, 1}, {0, 1e18, 6, 0, 2e17, 6}, {0, math.MaxInt64, 6, 0, 2e18, 5}, {10, 45, 3, 20, 20, 2},
	} {
		times, step := ticks(timeline.Nanos(c.start), timeline.Nanos(c.length), int(c.most))
		if len(times) != c.n || int64(step) != c.step || int64(times[0]) != c.first {
			t.Errorf("from %d for %d: %v by %d", c.start, c.length, times, step)
		}
	}
}
