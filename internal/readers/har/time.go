package har

import (
	"bytes"
	"math"
	"time"

	"github.com/weft-trace/weft/internal/timeline"
)

// zone says what is known of the zone of a time.
type zone uint8

const (
	noTime zone = iota // it is no time
	zoned
	unzoned // there is no zone: taken for UTC
)

// maxSeconds bounds times to what nanoseconds can hold: the year 2262.
const maxSeconds = math.MaxInt64/1_000_000_000 - 1

// isoTime reads a time of ISO 8601 as archives have it: YYYY-MM-DDThh:mm:ss.sTZD, with any number of digits of the second, and the zone
// as Z, ±hh:mm, ±hhmm or ±hh. Digits beyond the ninth are rounded, half up.
func isoTime(text []byte) (timeline.Nanos, zone) {
	p := isoParser{rest: bytes.TrimSpace(text)}
	year := p.digits(4)
	p.skip("-")
	month := p.digits(2)
	p.skip("-")
	day := p.digits(2)
	p.skip("Tt ")
	hour := p.digits(2)
	p.skip(":")
	minute := p.digits(2)
	second := 0
	if p.has(":") {
		second = p.digits(2)
	}
	nanos := p.fraction()
	offset, zone := p.zone()
	if p.bad || len(p.rest) > 0 || month < 1 || month > 12 || day < 1 || hour > 24 || minute > 59 || second > 60 ||
		day > time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day() {
		return 0, noTime
	}
	seconds := time.Date(year, time.Month(month), day, hour, minute, second, 0, time.UTC).Unix() - offset
	if seconds < -maxSeconds || seconds > maxSeconds {
		return 0, noTime
	}
	return timeline.Nanos(seconds*1e9 + nanos), zone
}

// isoParser reads the parts of a time one after the other.
type isoParser struct {
	rest []byte
	bad  bool
}

// digits reads a number of n digits.
func (p *isoParser) digits(n int) (v int) {
	if len(p.rest) < n {
		p.bad = true
		return 0
	}
	for _, c := range p.rest[:n] {
		if c-'0' > 9 {
			p.bad = true
			return 0
		}
		v = v*10 + int(c-'0')
	}
	p.rest = p.rest[n:]
	return v
}

// has reads one of the given characters, if it is next.
func (p *isoParser) has(any string) bool {
	if len(p.rest) > 0 && bytes.IndexByte([]byte(any), p.rest[0]) >= 0 {
		p.rest = p.rest[1:]
		return true
	}
	return false
}

func (p *isoParser) skip(any string) { p.bad = !p.has(any) || p.bad }

// fraction reads the digits after the point of a second, in nanoseconds.
func (p *isoParser) fraction() (nanos int64) {
	if !p.has(".,") {
		return 0
	}
	n := 0
	for ; n < len(p.rest) && p.rest[n]-'0' <= 9; n++ {
		switch {
		case n < 9:
			nanos = nanos*10 + int64(p.rest[n]-'0')
		case n == 9 && p.rest[n] >= '5':
			nanos++
		}
	}
	p.bad = p.bad || n == 0
	p.rest = p.rest[n:]
	for ; n < 9; n++ {
		nanos *= 10
	}
	return nanos
}

// zone reads the zone: what is to be subtracted, in seconds.
func (p *isoParser) zone() (offset int64, z zone) {
	switch {
	case len(p.rest) == 0:
		return 0, unzoned
	case p.has("Zz"):
		return 0, zoned
	}
	sign := int64(1)
	if !p.has("+") {
		sign = -1
		p.skip("-")
	}
	hours := p.digits(2)
	minutes := 0
	if p.has(":") || len(p.rest) > 0 {
		minutes = p.digits(2)
	}
	p.bad = p.bad || hours > 23 || minutes > 59
	return sign * int64(hours*3600+minutes*60), zoned
}
