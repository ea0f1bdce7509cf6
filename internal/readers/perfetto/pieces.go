package perfetto

import (
	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/v8profile"
)

// piece is an event with a piece of a V8 profile.
type piece struct {
	ts              timeline.Nanos
	clock           timeline.Nanos // v8profile.Event.Offset
	event           uint32
	name            pieceName
	hasID           bool
	process, thread timeline.TrackID
	id              uint64
	at              int64 // offset of the packet
}

// pieceName is the kind of a piece.
type pieceName uint8

const (
	headPiece pieceName = iota
	chunkPiece
	wholePiece
)

var pieceNames = [...]string{headPiece: v8profile.HeadName, chunkPiece: v8profile.ChunkName, wholePiece: v8profile.WholeName}

var pieceForm = extsort.FormOf[piece]()

// readPieces passes the pieces to the Assembler in time order.
func (r *reader) readPieces() error {
	return r.pieces.Each(func(p *piece, args []byte) error {
		if err := r.interrupted(); err != nil {
			return err
		}
		ev := v8profile.Event{
			Process: int64(p.process), Thread: int64(p.thread), TS: p.ts, Offset: p.clock, Args: args,
			At: problem.Position{Event: int64(p.event), Offset: p.at},
		}
		if p.hasID {
			ev.ID = string(idText(p.id))
		}
		r.profiles.Add(pieceNames[p.name], &ev)
		r.b.ReserveMemory(r.profiles.Held())
		return nil
	})
}
