package perfetto

import (
	"cmp"

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
	start, size     int64 // of the JSON text of data
}

// pieceName says what kind of piece an event is.
type pieceName uint8

const (
	headPiece pieceName = iota
	chunkPiece
	wholePiece
)

var pieceNames = [...]string{headPiece: v8profile.HeadName, chunkPiece: v8profile.ChunkName, wholePiece: v8profile.WholeName}

// pieces holds pieces of profiles until they can be read in the order of time: Chrome writes the last pieces of a profile on
// another sequence than those before, perhaps in front of them, and each goes on where the one before ends. The first texts
// are in memory, the others in a temporary file.
type pieces struct {
	sorted *extsort.Sorter[piece] // by time; nil: there are none
	text   []byte
	file   *extsort.File // what comes after text; nil: nothing
}

// maxPieces is what the list of pieces takes in memory; beyond it, it is sorted on disk.
const maxPieces = 1 << 20

// add adds a piece with its text. Texts take so many bytes in memory, and the rest is in dir.
func (ps *pieces) add(p piece, text []byte, memory int, dir string) (err error) {
	if ps.sorted == nil {
		ps.sorted = extsort.New(extsort.Order[piece]{Compare: func(a, b *piece) int {
			return cmp.Or(cmp.Compare(a.ts, b.ts), cmp.Compare(a.event, b.event))
		}}, maxPieces, dir)
	}
	p.start, p.size = int64(len(ps.text)), int64(len(text))
	switch {
	case ps.file == nil && len(ps.text)+len(text) <= memory:
		ps.text = append(ps.text, text...)
		return ps.sorted.Add(p)
	case ps.file == nil:
		if ps.file, err = extsort.NewFile(dir); err != nil {
			return err
		}
	}
	p.start += ps.file.Size()
	if _, err = ps.file.Write(text); err != nil {
		return err
	}
	return ps.sorted.Add(p)
}

// appendText appends the text of a piece, which has one, to b.
func (ps *pieces) appendText(b []byte, p *piece) ([]byte, error) {
	if p.start < int64(len(ps.text)) {
		return append(b, ps.text[p.start:][:p.size]...), nil
	}
	old := len(b)
	b = append(b, make([]byte, p.size)...)
	_, err := ps.file.ReadAt(b[old:], p.start-int64(len(ps.text)))
	return b, err
}

// close removes the temporary files.
func (ps *pieces) close() {
	if ps.sorted != nil {
		ps.sorted.Close()
	}
	if ps.file != nil {
		ps.file.Close()
	}
}

// readPieces hands the pieces to the Assembler in the order of time.
func (r *reader) readPieces() error {
	if r.pieces.sorted == nil {
		return nil
	}
	if r.pieces.file != nil {
		if err := r.pieces.file.Flush(); err != nil {
			return err
		}
	}
	var p piece
	for {
		if err := r.interrupted(); err != nil {
			return err
		}
		if ok, err := r.pieces.sorted.Next(&p); err != nil || !ok {
			return err
		}
		ev := v8profile.Event{
			Process: int64(p.process), Thread: int64(p.thread), TS: p.ts, Offset: p.clock,
			At: problem.Position{Event: int64(p.event), Offset: p.at},
		}
		if p.hasID {
			ev.ID = string(idText(p.id))
		}
		if p.size > 0 {
			text, err := r.pieces.appendText(append(r.text[:0], `{"data":`...), &p)
			if err != nil {
				return err
			}
			r.text = append(text, '}')
			ev.Args = r.text
		}
		r.profiles.Add(pieceNames[p.name], &ev)
		r.b.SetAside(r.profiles.Held())
	}
}
