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

	counterType     = 1
	counterUnit     = 3
	counterUnitName = 6
	counterShareKey = 7

	counterTypeThreadTime = 1

	orderingExplicit = 1
	mergeNone        = 2
	mergeByKey       = 3
)

// track returns the uuid of a track or of one of its lanes and describes it, and its parents, at first use.
func (w *writer) track(id timeline.TrackID, lane uint32) (uint64, error) {
	if lane > 0 {
		return w.lane(id, lane)
	}
	if id == 0 {
		return 0, nil
	}
	if uuid := w.uuids[id]; uuid != 0 {
		return uint64(uuid), nil
	}
	tr := w.t.Track(id)
	parent, err := w.track(tr.Parent, 0)
	if err != nil {
		return 0, err
	}
	uuid, err := w.newUUID()
	if err != nil {
		return 0, err
	}
	w.uuids[id] = uint32(uuid)
	return uuid, w.describe(&tr, uuid, parent, tr.Name)
}

func (w *writer) newUUID() (uint64, error) {
	if w.lastUUID >= 1<<32-2 {
		return 0, errTracks
	}
	w.lastUUID++
	return w.lastUUID, nil
}

// lane returns the uuid of a lane beside a track: a child of a thread named "Overlapping slices", for other tracks a
// sibling of the same name.
func (w *writer) lane(id timeline.TrackID, lane uint32) (uint64, error) {
	key := laneKey{id, lane}
	if uuid := w.lanes[key]; uuid != 0 {
		return uuid, nil
	}
	// The track itself comes first, so that it is shown above its lanes.
	main, err := w.track(id, 0)
	if err != nil {
		return 0, err
	}
	uuid, err := w.newUUID()
	if err != nil {
		return 0, err
	}
	w.lanes[key] = uuid
	tr := w.t.Track(id)
	spec := timeline.Track{Kind: timeline.NamedTrack}
	name, parent := timeline.OverlappingSlices, main
	if tr.Kind != timeline.ThreadTrack {
		if name = tr.Name; tr.Kind != timeline.ProcessTrack {
			parent, err = w.track(tr.Parent, 0)
		}
	}
	if err != nil {
		return 0, err
	}
	return uuid, w.describe(&spec, uuid, parent, name)
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

// threadClock returns the uuid of the counter that holds the CPU time of a thread, 0 for other tracks. The counter has
// no name: with any other name than thread_time Perfetto would not take it as thread time.
func (w *writer) threadClock(id timeline.TrackID) (uint64, error) {
	if w.t.TrackKind(id) != timeline.ThreadTrack {
		return 0, nil
	}
	if uuid := w.clocks[id]; uuid != 0 {
		return uuid, nil
	}
	uuid, err := w.newUUID()
	if err != nil {
		return 0, err
	}
	if w.clocks == nil {
		w.clocks = map[timeline.TrackID]uint64{}
	}
	w.clocks[id] = uuid
	b, packet := wire.BeginMessage(w.out.buf, tracePacket)
	b = append(b, plain...)
	b, d := wire.BeginMessage(b, packetDescriptor)
	b = wire.AppendUint(b, descriptorUUID, uuid)
	b = wire.AppendUint(b, descriptorParent, uint64(w.uuids[id]))
	b, c := wire.BeginMessage(b, descriptorCounter)
	b = wire.EndMessage(wire.AppendUint(b, counterType, counterTypeThreadTime), c)
	w.out.buf = wire.EndMessage(wire.EndMessage(b, d), packet)
	return uuid, w.out.packetDone()
}
