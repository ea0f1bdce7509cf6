package firefox

import (
	"math"
	"strings"

	"github.com/weft-trace/weft/internal/jsonscan"
)

// meta is the metadata that the conversion uses (section 2); the rest becomes attributes.
type meta struct {
	version      int64 // version of the raw format; 0: missing
	preprocessed int64 // version of the processed format; 0: missing
	isProcessed  bool

	startTime     float64 // ms since 1970
	startTimeText string  // unparsed
	monotonic     string  // the system's monotonic clock at startTime in ns, unparsed
	monotonicKey  string  // its key, which identifies the clock
	interval      float64 // ms
	endTime       float64 // profilingEndTime; NaN if unknown
	processType   int64
	shutdownTime  float64

	categories []category
	schemas    []*schema
	cpuUnit    string // unit of threadCPUDelta
	timeUnit   string // "ms", or "bytes" in size profiles

	attributes []attribute
}

// category is a category of markers and frames.
type category struct {
	name          string
	color         string
	subcategories []string
}

func (d *decoder) readMeta(m *meta) error {
	m.endTime, m.shutdownTime = math.NaN(), math.NaN()
	return d.object(func(key string) error {
		switch key {
		case "version":
			return d.integer(&m.version)
		case "preprocessedProfileVersion":
			m.isProcessed = true
			return d.integer(&m.preprocessed)
		case "startTime":
			return d.readStart(m)
		case "startTimeAsClockMonotonicNanosecondsSinceBoot", "startTimeAsMachAbsoluteTimeNanoseconds":
			kind, text, err := d.scalar()
			if err == nil && kind == jsonscan.Integer {
				m.monotonic, m.monotonicKey = string(text), key
			}
			return err
		case "interval":
			return d.number(&m.interval)
		case "profilingEndTime":
			return d.number(&m.endTime)
		case "processType":
			return d.integer(&m.processType)
		case "shutdownTime":
			return d.number(&m.shutdownTime)
		case "categories":
			return d.readCategories(&m.categories)
		case "markerSchema":
			return d.array(func() error { return d.readSchema(&m.schemas) })
		case "sampleUnits":
			return d.object(func(key string) error {
				switch key {
				case "threadCPUDelta":
					return d.text(&m.cpuUnit)
				case "time":
					return d.text(&m.timeUnit)
				}
				return d.Skip()
			})
		}
		return d.readAttribute(&m.attributes, key)
	})
}

func (d *decoder) readStart(m *meta) error {
	kind, text, err := d.scalar()
	if err != nil || kind != jsonscan.Integer && kind != jsonscan.Number {
		return err
	}
	m.startTime, _ = jsonscan.Float64(text)
	m.startTimeText = string(text)
	return nil
}

func (d *decoder) readCategories(categories *[]category) error {
	return d.array(func() error {
		if ok, err := d.hasCapacity(len(*categories)); !ok {
			return err
		}
		var c category
		err := d.object(func(key string) error {
			switch key {
			case "name":
				return d.text(&c.name)
			case "color":
				return d.text(&c.color)
			case "subcategories":
				return d.array(func() error {
					var sub string
					if err := d.text(&sub); err != nil {
						return err
					}
					c.subcategories = append(c.subcategories, sub)
					return nil
				})
			}
			return d.Skip()
		})
		if err == nil {
			c.name = clip(c.name, maxCategory)
			for i := range c.subcategories {
				c.subcategories[i] = clip(c.subcategories[i], maxCategory)
			}
			*categories = append(*categories, c)
		}
		return err
	})
}

// maxCategory limits the length of category names, which every event repeats.
const maxCategory = 256

func clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "")
}
