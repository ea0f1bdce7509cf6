package v8profile

import "github.com/weft-trace/weft/internal/jsonscan"

// args reads the arguments of a Profile, ProfileChunk or CpuProfile event: the "data" object.
func (r *decoder) args() error {
	r.beginPiece()
	return r.object(func(key []byte) error {
		if string(key) != "data" {
			return r.Skip()
		}
		return r.object(r.dataMember)
	})
}

// dataMember reads a member of args.data. Here, unlike in files, deltas and positions are outside the profile.
func (r *decoder) dataMember(key []byte) error {
	switch string(key) {
	case "cpuProfile":
		return r.object(r.profileMember)
	case "source":
		var source textIndex
		if err := r.text(&source); err != nil {
			return err
		}
		if s := r.d.textList[source]; s != "" {
			r.d.source = s
		}
		return nil
	case "startTime", "endTime", "timeDeltas", "lines", "columns":
		return r.profileMember(key)
	}
	return r.Skip()
}

// document reads a whole .cpuprofile.
func (r *decoder) document() error {
	if _, err := r.Begin(); err != nil {
		return err
	}
	r.beginPiece()
	return r.object(func(key []byte) error {
		if string(key) == "profile" { // a saved result of Profiler.stop
			return r.object(r.profileMember)
		}
		return r.profileMember(key)
	})
}

// beginPiece records where the samples of a piece start.
func (r *decoder) beginPiece() { r.pieceStart, r.nLines, r.nColumns = r.d.samples.n, 0, 0 }

// profileMember reads a member of a profile (profile-calls.md 2).
func (r *decoder) profileMember(key []byte) error {
	switch string(key) {
	case "nodes":
		return r.array(r.node)
	case "head":
		return r.legacyTree()
	case "samples":
		return r.array(r.sample)
	case "timeDeltas":
		return r.array(func() error {
			delta, _, err := r.micros()
			if err == nil {
				r.d.addDelta(delta)
			}
			return err
		})
	case "timestamps":
		return r.array(r.timestamp)
	case "lines":
		return r.array(func() error { return r.position(&r.d.lines, &r.nLines) })
	case "columns":
		return r.array(func() error { return r.position(&r.d.columns, &r.nColumns) })
	case "trace_ids":
		return r.object(r.traceID)
	case "startTime":
		return r.bound(&r.d.start)
	case "endTime":
		return r.bound(&r.d.end)
	}
	return r.Skip()
}

// bound reads the start or the end of a profile. The unit is seconds in legacy documents and microseconds in others, so
// it is known only at the end of the document.
func (r *decoder) bound(dst *bound) error {
	kind, text, err := r.Scalar()
	if err != nil {
		return err
	}
	if kind == jsonscan.Integer || kind == jsonscan.Number {
		dst.micros, dst.hasMicros = inUnit(text, 3)
		dst.seconds, dst.hasSeconds = inUnit(text, 9)
	} else if kind != jsonscan.Null {
		r.d.found.badValues++
	}
	return nil
}

func (r *decoder) sample() error {
	id, ok, err := r.integer()
	switch {
	case err != nil:
		return err
	case !ok:
		id = -1 // matches no node; the sample keeps its time
	}
	r.d.addSample(id)
	return nil
}

// timestamp reads the time of a sample in a legacy document.
func (r *decoder) timestamp() error {
	ts, ok, err := r.micros()
	if err != nil {
		return err
	}
	if !ok {
		ts = r.d.lastTime
	}
	r.d.absolute = true
	r.d.addTime(ts)
	return nil
}

func (r *decoder) position(ps *positions, n *int) error {
	v := int32(0)
	if err := r.lineOrColumn(&v); err != nil {
		return err
	}
	r.d.setErr(ps.add(r.d.spool, r.pieceStart+*n, r.d.samples.n, v))
	*n++
	return nil
}

// traceID reads a member of trace_ids. If several pieces have the same id, the last one counts.
func (r *decoder) traceID(key []byte) error {
	traceID, okID := jsonscan.Uint64(key)
	node, okNode, err := r.integer()
	switch {
	case err != nil:
		return err
	case !okID:
		r.d.found.badValues++
	case okNode:
		if r.d.traceIDs == nil {
			r.d.traceIDs = map[uint64]uint32{}
		}
		r.d.traceIDs[traceID] = uint32(r.d.slots.get(node))
	}
	return nil
}
