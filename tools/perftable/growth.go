package main

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// growthPoint is what the conversion of an input of some size takes.
type growthPoint struct {
	size      int64 // bytes
	wall, cpu time.Duration
	peak      int64 // bytes
}

// perMB is the time for a megabyte of input.
func (p *growthPoint) perMB() time.Duration {
	return time.Duration(float64(p.wall) / (float64(p.size) / megabyte))
}

// measureGrowth converts traces of one kind and different sizes with default flags.
func (b *bench) measureGrowth() ([]growthPoint, error) {
	b.logf("growth")
	var points []growthPoint
	for _, size := range b.sizes {
		u, err := b.measureTrace(size * megabyte)
		if err != nil {
			return nil, err
		}
		points = append(points, growthPoint{size * megabyte, u.wall, u.cpu, u.peak})
	}
	return points, nil
}

// growthTable returns the points as a table in Markdown, "" without points.
func growthTable(points []growthPoint) string {
	if len(points) == 0 {
		return ""
	}
	var rows [][]string
	for _, p := range points {
		rows = append(rows, []string{
			sizeText(p.size), timeText(p.wall), fmt.Sprintf("%.2f ms", p.perMB().Seconds()*1e3), timeText(p.cpu), memoryText(p.peak),
		})
	}
	return markdown([]string{"input", "wall time", "per MB", "CPU time", "peak RSS"}, rows)
}

// The plot: two panels above each other with one horizontal axis, the size of the input, which is logarithmic.
const (
	plotWidth, plotHeight = 640, 460
	panelLeft, panelRight = 80, 610
	panelHeight           = 150
	upperTop, lowerTop    = 40, 250
)

// panel is one of the two plots.
type panel struct {
	title  string
	color  string
	top    float64
	values []float64 // one for each point
}

// growthPlot returns the points as an SVG: time for a megabyte, and peak memory, over the size of the input.
func growthPlot(points []growthPoint) string {
	perMB := panel{title: "time per MB of input, ms", color: "#1a73e8", top: upperTop}
	peak := panel{title: "peak RSS, MiB", color: "#c5221f", top: lowerTop}
	var sizes []float64
	for _, p := range points {
		sizes = append(sizes, float64(p.size)/megabyte)
		perMB.values = append(perMB.values, p.perMB().Seconds()*1e3)
		peak.values = append(peak.values, float64(p.peak)/(1<<20))
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="sans-serif" font-size="12">`+"\n",
		plotWidth, plotHeight, plotWidth, plotHeight)
	b.WriteString(`<title>Time per megabyte and peak memory of weft convert by size of the input</title>` + "\n")
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="white"/>`+"\n", plotWidth, plotHeight)
	perMB.draw(&b, sizes)
	peak.draw(&b, sizes)
	fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="middle">size of the input, MB (logarithmic)</text>`+"\n",
		(panelLeft+panelRight)/2, lowerTop+panelHeight+40)
	b.WriteString("</svg>\n")
	return b.String()
}

// draw draws axes with three marks, the line, and the value at every point.
func (p *panel) draw(b *strings.Builder, sizes []float64) {
	bottom := p.top + panelHeight
	limit := niceLimit(p.values)
	fmt.Fprintf(b, `<text x="%d" y="%.0f" font-weight="bold">%s</text>`+"\n", panelLeft, p.top-14, p.title)
	for i := range 3 {
		value := limit * float64(i) / 2
		y := bottom - panelHeight*value/limit
		fmt.Fprintf(b, `<path d="M%d %.1fH%d" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%g</text>`+"\n",
			panelLeft, y, panelRight, panelLeft-8, y+4, value)
	}
	var line strings.Builder
	for i, size := range sizes {
		x, y := plotX(sizes, size), bottom-panelHeight*p.values[i]/limit
		fmt.Fprintf(&line, "%.1f,%.1f ", x, y)
		fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="3.5" fill="%s"/><text x="%.1f" y="%.1f" text-anchor="middle">%.4g</text>`+"\n",
			x, y, p.color, x, y-9, roundTo(p.values[i], 3))
		fmt.Fprintf(b, `<path d="M%.1f %.1fv5" stroke="#666"/><text x="%.1f" y="%.1f" text-anchor="middle">%g</text>`+"\n",
			x, bottom, x, bottom+19, size)
	}
	fmt.Fprintf(b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", strings.TrimSpace(line.String()), p.color)
	fmt.Fprintf(b, `<path d="M%d %.1fH%d" stroke="#666"/>`+"\n", panelLeft, bottom, panelRight)
}

// plotX places a size on the horizontal axis.
func plotX(sizes []float64, size float64) float64 {
	const margin = 30
	least, most := math.Log(sizes[0]), math.Log(sizes[len(sizes)-1])
	if most <= least {
		return (panelLeft + panelRight) / 2
	}
	return panelLeft + margin + (panelRight-panelLeft-2*margin)*(math.Log(size)-least)/(most-least)
}

// niceLimit returns a round number above all values, with some room.
func niceLimit(values []float64) float64 {
	most := 0.0
	for _, v := range values {
		most = max(most, v)
	}
	if most <= 0 {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(most)))
	for _, factor := range []float64{1, 2, 4, 6, 8} {
		if most*1.15 <= factor*power {
			return factor * power
		}
	}
	return 20 * power
}

// roundTo rounds to a number of digits.
func roundTo(v float64, digits int) float64 {
	if v == 0 {
		return 0
	}
	power := math.Pow(10, float64(digits)-1-math.Floor(math.Log10(math.Abs(v))))
	return math.Round(v*power) / power
}
