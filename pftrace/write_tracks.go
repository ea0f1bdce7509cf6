package pftrace

import (
	"github.com/weft-trace/weft/internal/wire"
	"github.com/weft-trace/weft/timeline"
)

// Field numbers of spec perfetto.md 2.4.
const (
	descriptorUUID            = 1
	descriptorName            = 2
	descriptorProcess         = 3
	descriptorThread          = 4
	descriptorParent          = 5
	descriptorCounter         = 8
	descriptorChildOrdering   = 11
	descriptorRank            = 12
	descriptorDescription     = 14
	descriptorMerge           = 15
	descriptorMergeKey        = 16
	descriptorProcessOrdering = 19
	descriptorThreadOrdering  = 20

	processPID    = 1
	processName   = 6
	processLabels = 8

	threadPID  = 1
	threadTID  = 2
	threadName = 5

	counterType       = 1
	counterUnit       = 3
	counterMultiplier = 4
	counterUnitName   = 6
	counterShareKey   = 7

	counterTypeThreadTime = 1

	orderingExplicit = 1
	mergeNone        = 2
	mergeByKey       = 3
)

// tracks describes all tracks that have events, with their lanes and counters of thread time.
func (w *writer) tracks() error {
	for id := range timeline.TrackID(w.t.TrackCount()) {
		tr := w.t.Track(id)
		if !tr.Used || id == 0 {
			continue
		}
		if err := w.describe(&tr, uint64(id), uint64(tr.Parent), tr.Name); err != nil {
			return err
		}
		if clock := w.clocks[id]; clock != 0 && w.t.TrackKind(id) == timeline.ThreadTrack {
			if err := w.describeClock(clock, uint64(id)); err != nil {
				return err
			}
		}
		for lane := uint32(1); lane <= w.t.LaneCount(id); lane++ {
			if err := w.describeLane(&tr, w.track(id, lane)); err != nil {
				return err
			}
		}
	}
	return nil
}

// describeLane describes a lane beside a track: a child of a thread or process named "Overlapping slices", for other
// tracks a sibling of the same name.
func (w *writer) describeLane(tr *timeline.Track, uuid uint64) error {
	lane := timeline.Track{Kind: timeline.NamedTrack, Spec: tr.Spec, Rank: tr.Rank, HasRank: tr.Spec != nil && tr.HasRank}
	if tr.Kind == timeline.ThreadTrack || tr.Kind == timeline.ProcessTrack {
		return w.describe(&lane, uuid, uint64(tr.ID), timeline.OverlappingSlices)
	}
	return w.describe(&lane, uuid, uint64(tr.Parent), tr.Name)
}

// describe writes a track descriptor.
func (w *writer) describe(tr *timeline.Track, uuid, parent uint64, name string) error {
	b, packet := wire.BeginMessage(w.out.buf, tracePacket)
	b = append(b, plain...)
	b, d := wire.BeginMessage(b, packetDescriptor)
	b = wire.AppendUint(b, descriptorUUID, uuid)
	if parent != 0 {
		b = wire.AppendUint(b, descriptorParent, parent)
	}
	switch tr.Kind {
	case timeline.ProcessTrack:
		b = appendProcess(b, tr)
	case timeline.ThreadTrack:
		b = appendThread(b, tr)
	case timeline.CounterTrack:
		b = wire.AppendString(b, descriptorName, name)
		b = appendCounter(b, tr.Counter)
	default:
		b = wire.AppendString(b, descriptorName, name)
		b = appendSpec(b, tr.Spec)
	}
	if tr.HasRank {
		b = wire.AppendInt(b, descriptorRank, int64(tr.Rank))
	}
	w.out.buf = wire.EndMessage(wire.EndMessage(b, d), packet)
	return w.out.packetDone()
}

func appendProcess(b []byte, tr *timeline.Track) []byte {
	b, p := wire.BeginMessage(b, descriptorProcess)
	b = wire.AppendInt(b, processPID, int64(tr.PID))
	if tr.Name != "" {
		b = wire.AppendString(b, processName, tr.Name)
	}
	for _, label := range tr.Labels {
		b = wire.AppendString(b, processLabels, label)
	}
	return wire.EndMessage(b, p)
}

func appendThread(b []byte, tr *timeline.Track) []byte {
	b, th := wire.BeginMessage(b, descriptorThread)
	b = wire.AppendInt(b, threadPID, int64(tr.PID))
	b = wire.AppendInt(b, threadTID, tr.TID)
	if tr.Name != "" {
		b = wire.AppendString(b, threadName, tr.Name)
	}
	return wire.EndMessage(b, th)
}

func appendCounter(b []byte, c *timeline.CounterKey) []byte {
	if c.Description != "" {
		b = wire.AppendString(b, descriptorDescription, c.Description)
	}
	b, m := wire.BeginMessage(b, descriptorCounter)
	if c.Unit != timeline.UnitNone {
		b = wire.AppendUint(b, counterUnit, uint64(c.Unit))
	}
	if c.UnitName != "" {
		b = wire.AppendString(b, counterUnitName, c.UnitName)
	}
	if c.ShareKey != "" {
		b = wire.AppendString(b, counterShareKey, c.ShareKey)
	}
	return wire.EndMessage(b, m)
}

func appendSpec(b []byte, spec *timeline.TrackSpec) []byte {
	if spec == nil {
		return b
	}
	if spec.Description != "" {
		b = wire.AppendString(b, descriptorDescription, spec.Description)
	}
	if spec.Ordering != timeline.OrderDefault {
		b = wire.AppendUint(b, descriptorChildOrdering, uint64(spec.Ordering))
	}
	switch spec.Merge {
	case timeline.MergeNone:
		b = wire.AppendUint(b, descriptorMerge, mergeNone)
	case timeline.MergeByKey:
		b = wire.AppendUint(b, descriptorMerge, mergeByKey)
		b = wire.AppendString(b, descriptorMergeKey, spec.MergeKey)
	}
	return b
}

// describeClock describes the counter that holds the CPU time of a thread. It has no name: with any other name than
// thread_time Perfetto would not take it as thread time.
func (w *writer) describeClock(uuid, thread uint64) error {
	b, packet := wire.BeginMessage(w.out.buf, tracePacket)
	b = append(b, plain...)
	b, d := wire.BeginMessage(b, packetDescriptor)
	b = wire.AppendUint(b, descriptorUUID, uuid)
	b = wire.AppendUint(b, descriptorParent, thread)
	b, c := wire.BeginMessage(b, descriptorCounter)
	b = wire.AppendUint(b, counterType, counterTypeThreadTime)
	if unit := w.compact.threadUnit; unit != 1 {
		b = wire.AppendUint(b, counterMultiplier, uint64(unit))
	}
	b = wire.EndMessage(b, c)
	w.out.buf = wire.EndMessage(wire.EndMessage(b, d), packet)
	return w.out.packetDone()
}
