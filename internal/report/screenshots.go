package report

import (
	"bytes"

	"github.com/weft-trace/weft/internal/timeline"
)

// Screenshot shows what a page looked like.
type Screenshot struct {
	At    timeline.Nanos
	Image []byte // JPEG
}

// Limits of the screenshots of an All.
const (
	maxScreenshots      = 10
	maxScreenshotsBytes = 150_000 // of all together: a page embeds them unchanged
)

// picture keeps a screenshot that differs from the previous one. When there are too many, it drops every second one. From then
// on, it keeps a screenshot only if the time since the last kept one is at least about the new average interval.
func (c *resourceCollector) picture(it *timeline.Item) {
	image, n := c.tl.ScreenshotOf(it.Args), len(c.pictures)
	if len(image) == 0 || len(image) > maxScreenshotsBytes || n > 0 && (it.TS < c.pictures[n-1].At+c.apart || bytes.Equal(image, c.pictures[n-1].Image)) {
		return
	}
	if c.pictures = append(c.pictures, Screenshot{it.TS, bytes.Clone(image)}); n == maxScreenshots {
		c.pictures = everySecond(c.pictures)
		c.apart = (it.TS - c.pictures[0].At) / timeline.Nanos(len(c.pictures))
	}
}

// screenshots returns the kept pictures; it drops every second one until together they are small enough.
func (c *resourceCollector) screenshots() []Screenshot {
	for {
		size := 0
		for i := range c.pictures {
			size += len(c.pictures[i].Image)
		}
		if size <= maxScreenshotsBytes {
			return c.pictures
		}
		c.pictures = everySecond(c.pictures)
	}
}

// everySecond keeps the first, third, fifth picture and so on, in place.
func everySecond(list []Screenshot) []Screenshot {
	for i := range (len(list) + 1) / 2 {
		list[i] = list[2*i]
	}
	return list[:(len(list)+1)/2]
}
