package convert

import (
	"fmt"
	"slices"

	"github.com/weft-trace/weft/internal/pfwire"
	"github.com/weft-trace/weft/internal/suggest"
)

// Packets says how the packets of events are written.
type Packets uint8

const (
	// PacketsPlain gives each packet its time in nanoseconds and its track.
	PacketsPlain Packets = iota
	// PacketsCompact gives the time since the packet before, and no track where it is the most frequent one. Viewers show
	// the same; who reads packets with a program of their own must know clock snapshots and packet defaults.
	PacketsCompact
)

var packetForms = [...]string{PacketsPlain: "plain", PacketsCompact: "compact"}

// String returns "plain" or "compact".
func (p Packets) String() string {
	if int(p) < len(packetForms) {
		return packetForms[p]
	}
	return fmt.Sprintf("Packets(%d)", uint8(p))
}

// ParsePackets is the inverse of String.
func ParsePackets(name string) (Packets, error) {
	if i := slices.Index(packetForms[:], name); i >= 0 {
		return Packets(i), nil
	}
	return 0, suggest.Unknown("form", name, packetForms[:])
}

// form returns the form as package pfwire calls it.
func (p Packets) form() pfwire.PacketForm {
	if p == PacketsCompact {
		return pfwire.CompactPackets
	}
	return pfwire.PlainPackets
}
