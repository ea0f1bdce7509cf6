package pfwire

import (
	"strings"

	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/wire"
)

// tracks describes all tracks with events, including their lanes and thread time counters.
func (w *writer) tracks() error {
	for id := range timeline.TrackID(w.t.TrackCount()) {
		tr := w.t.Track(id)
		if !tr.Used || id == 0 {
			continue
		}
		w.switchTo(id)
		parent, rank, ranked := w.below(&tr)
		tr.Rank, tr.HasRank = rank, ranked
		if err := w.describe(&tr, uint64(id), parent, tr.Name); err != nil {
			return err
		}
		if d, ok := w.details[id]; ok {
			between := timeline.Track{Kind: timeline.NamedTrack, Spec: &detailsSpec}
			if err := w.describe(&between, d.uuid, uint64(id), detailsSpec.Name); err != nil {
				return err
			}
		}
		if err := w.describeGroups(id); err != nil {
			return err
		}
		if clock := w.clocks[id]; clock != 0 && w.t.TrackKind(id) == timeline.ThreadTrack {
			if err := w.describeClock(clock, uint64(id)); err != nil {
				return err
			}
		}
		for lane := w.t.FirstLane(id); lane <= w.t.LaneCount(id); lane++ {
			if err := w.describeLane(&tr, lane, parent); err != nil {
				return err
			}
		}
	}
	return nil
}

// details is the track that the writer puts between a thread and the tracks with its details. Viewers rank the tracks directly below
// threads by name, across the whole trace; below the details they use ranks.
type details struct {
	uuid   uint64
	ranked map[string]int32 // by track name
}

// detailsSpec describes a details track.
var detailsSpec = timeline.TrackSpec{
	Name: timeline.RoleDetails.String(), Role: timeline.RoleDetails, Ordering: timeline.OrderExplicit,
}

func isDetail(spec *timeline.TrackSpec) bool { return spec != nil && spec.Role.ThreadDetail() > 0 }

// rank returns the rank of a track below the details: by role, then in the order in which rank is first called for the tracks.
// Tracks with equal names, which viewers show as one, share a rank.
func (d *details) rank(spec *timeline.TrackSpec) int32 {
	rank, ok := d.ranked[spec.Name]
	if !ok {
		rank = int32(spec.Role.ThreadDetail())<<16 + int32(len(d.ranked))
		d.ranked[spec.Name] = rank
	}
	return rank
}

// findDetails assigns ids to the details tracks of threads.
func (w *writer) findDetails() {
	for id := range timeline.TrackID(w.t.TrackCount()) {
		thread := w.t.TrackParent(id)
		if w.t.TrackKind(id) != timeline.NamedTrack || w.t.TrackKind(thread) != timeline.ThreadTrack || w.details[thread] != nil {
			continue
		}
		if tr := w.t.Track(id); tr.Used && isDetail(tr.Spec) {
			w.lastUUID++
			w.details[thread] = &details{w.lastUUID, map[string]int32{}}
		}
	}
}

// describeLane writes the descriptor of a lane. For a thread or process, it is a child named "Overlapping slices" or, for a
// stream, named like the thread; for other tracks, it is a sibling with the same name.
func (w *writer) describeLane(tr *timeline.Track, lane uint32, parent uint64) error {
	uuid := w.track(tr.ID, lane)
	if tr.Kind == timeline.ThreadTrack || tr.Kind == timeline.ProcessTrack {
		role := timeline.RoleLane
		if w.streams[tr.ID] {
			role = timeline.RoleStream
		}
		child := timeline.Track{Kind: timeline.NamedTrack, Spec: &timeline.TrackSpec{Role: role, Lane: lane}}
		return w.describe(&child, uuid, uint64(tr.ID), w.t.LaneName(tr.ID))
	}
	spec := timeline.TrackSpec{Role: timeline.RoleAsync}
	if tr.Spec != nil {
		spec = *tr.Spec
	}
	spec.Lane = lane
	sibling := timeline.Track{ID: tr.ID, Kind: timeline.NamedTrack, Spec: &spec, Rank: tr.Rank, HasRank: tr.HasRank}
	return w.describe(&sibling, uuid, parent, tr.Name)
}

// describe writes a track descriptor. Thread descriptors are on no sequence: if the sequence of the events described a thread,
// Perfetto would show it for all events that are on no thread (perfetto.md 5.7).
func (w *writer) describe(tr *timeline.Track, uuid, parent uint64, name string) error {
	b, packet := wire.BeginMessage(w.out.buf, schema.Trace_Packet)
	if tr.Kind != timeline.ThreadTrack {
		b = append(b, w.plain...)
	} else {
		b = append(b, w.machineID...)
	}
	b, d := wire.BeginMessage(b, schema.TracePacket_TrackDescriptor)
	b = wire.AppendUint(b, schema.TrackDescriptor_UUID, uuid)
	if parent != 0 {
		b = wire.AppendUint(b, schema.TrackDescriptor_ParentUUID, parent)
	}
	switch tr.Kind {
	case timeline.ProcessTrack:
		b = appendProcess(b, tr)
	case timeline.ThreadTrack:
		b = appendThread(b, tr)
	case timeline.CounterTrack:
		b = wire.AppendString(b, schema.TrackDescriptor_Name, name)
		b = appendCounter(b, tr.Counter)
	default:
		b = wire.AppendString(b, schema.TrackDescriptor_Name, name)
		b = appendSpec(b, tr.Spec)
	}
	idSpace := ""
	if parent == 0 && tr.ID != 0 && tr.Kind != timeline.CounterTrack {
		idSpace = w.t.IDSpace(tr.ID)
	}
	b = appendMark(b, tr, tr.Kind == timeline.ProcessTrack && w.t.Role(tr.ID) == timeline.RoleMainProcess, idSpace)
	if tr.Assigned || len(tr.Facts) > 0 {
		b = wire.AppendString(b, schema.TrackDescriptor_Description, describeForPeople(tr))
	}
	if tr.HasRank {
		b = wire.AppendInt(b, schema.TrackDescriptor_SiblingOrderRank, int64(tr.Rank))
	}
	w.out.buf = wire.EndMessage(wire.EndMessage(b, d), packet)
	return w.out.packetDone()
}

func appendProcess(b []byte, tr *timeline.Track) []byte {
	b, p := wire.BeginMessage(b, schema.TrackDescriptor_Process)
	b = wire.AppendInt(b, schema.ProcessDescriptor_PID, int64(tr.PID))
	name := timeline.Program(tr.FullName())
	if line := tr.Unlabelled(); timeline.Program(line) != line { // the reader uses the command line as the name
		b = wire.AppendString(b, schema.ProcessDescriptor_Cmdline, line)
	}
	if name != "" {
		b = wire.AppendString(b, schema.ProcessDescriptor_ProcessName, name)
	}
	for _, label := range tr.Labels {
		b = wire.AppendString(b, schema.ProcessDescriptor_ProcessLabels, label)
	}
	if label := pidLabel(tr.InputID, tr.PID); tr.Assigned && label != "" {
		b = wire.AppendString(b, schema.ProcessDescriptor_ProcessLabels, label)
	}
	return wire.EndMessage(b, p)
}

func appendThread(b []byte, tr *timeline.Track) []byte {
	b, th := wire.BeginMessage(b, schema.TrackDescriptor_Thread)
	b = wire.AppendInt(b, schema.ThreadDescriptor_PID, int64(tr.PID))
	b = wire.AppendInt(b, schema.ThreadDescriptor_TID, tr.TID)
	if name := tr.FullName(); name != "" {
		b = wire.AppendString(b, schema.ThreadDescriptor_ThreadName, name)
	}
	b = wire.EndMessage(b, th)
	// With this, viewers rank the thread's own track among the tracks below the thread, and rank it first, because no other track
	// lacks a name.
	return wire.AppendUint(b, schema.TrackDescriptor_DisallowMergingWithSystemTracks, 1)
}

func appendCounter(b []byte, c *timeline.CounterKey) []byte {
	if c.Description != "" {
		b = wire.AppendString(b, schema.TrackDescriptor_Description, c.Description)
	}
	b, m := wire.BeginMessage(b, schema.TrackDescriptor_Counter)
	if c.Unit != timeline.UnitNone {
		b = wire.AppendUint(b, schema.CounterDescriptor_Unit, uint64(c.Unit))
	}
	if c.UnitName != "" {
		b = wire.AppendString(b, schema.CounterDescriptor_UnitName, c.UnitName)
	}
	if c.ShareKey != "" {
		b = wire.AppendString(b, schema.CounterDescriptor_YAxisShareKey, c.ShareKey)
	}
	return wire.EndMessage(b, m)
}

func appendSpec(b []byte, spec *timeline.TrackSpec) []byte {
	if spec == nil {
		return b
	}
	if spec.Description != "" {
		b = wire.AppendString(b, schema.TrackDescriptor_Description, spec.Description)
	}
	if spec.Ordering != timeline.OrderDefault {
		b = wire.AppendUint(b, schema.TrackDescriptor_ChildOrdering, uint64(spec.Ordering))
	}
	switch spec.Merge {
	case timeline.MergeNone:
		b = wire.AppendUint(b, schema.TrackDescriptor_SiblingMergeBehavior, schema.TrackDescriptor_SiblingMergeBehaviorNone)
	case timeline.MergeByKey:
		b = wire.AppendUint(b, schema.TrackDescriptor_SiblingMergeBehavior, schema.TrackDescriptor_SiblingMergeBehaviorBySiblingMergeKey)
		b = wire.AppendString(b, schema.TrackDescriptor_SiblingMergeKey, spec.MergeKey)
	}
	return b
}

// appendMark appends the track properties that only weft uses: its role, see timeline.Role (docs/formats/perfetto.md, "What
// weft's own tracks are"), the number of a lane, the input's id if the output's is assigned, the facts about a thread, the id
// space of a track below the root, and the offset of a process from its recording. The parameter main is true for the main
// process of a browser.
func appendMark(b []byte, tr *timeline.Track, main bool, idSpace string) []byte {
	role, subject, lane := timeline.NoRole, "", uint32(0)
	switch {
	case main:
		role = timeline.RoleMainProcess
	case tr.Kind == timeline.AsyncTrack:
		role = timeline.RoleAsync
	case tr.Spec != nil:
		role, subject, lane = tr.Spec.Role, tr.Spec.Subject, tr.Spec.Lane
	}
	if role == timeline.NoRole && lane == 0 && !tr.Assigned && len(tr.Facts) == 0 && idSpace == "" && !tr.Renumbered && tr.Moved == 0 && tr.Input == "" {
		return b
	}
	b, mark := wire.BeginMessage(b, schema.TrackDescriptor_WeftMark)
	if role != timeline.NoRole {
		b = wire.AppendUint(b, schema.WeftTrackMark_Role, uint64(role))
	}
	if subject != "" {
		b = wire.AppendString(b, schema.WeftTrackMark_Subject, subject)
	}
	if tr.Assigned {
		b = appendInputID(b, tr)
	}
	for i := range tr.Facts {
		b = appendFact(b, &tr.Facts[i])
	}
	if lane != 0 {
		b = wire.AppendUint(b, schema.WeftTrackMark_Lane, uint64(lane))
	}
	if idSpace != "" {
		b = wire.AppendString(b, schema.WeftTrackMark_IDSpace, idSpace)
	}
	if tr.Renumbered {
		b = wire.AppendInt(b, schema.WeftTrackMark_RecordedPID, tr.RecordedPID)
	}
	if tr.Moved != 0 {
		b = wire.AppendInt(b, schema.WeftTrackMark_MovedNS, int64(tr.Moved))
	}
	if tr.Input != "" {
		b = wire.AppendString(b, schema.WeftTrackMark_Input, tr.Input)
	}
	return wire.EndMessage(b, mark)
}

func appendFact(b []byte, f *timeline.Fact) []byte {
	b, m := wire.BeginMessage(b, schema.WeftTrackMark_Facts)
	b = wire.AppendUint(b, schema.WeftFact_Kind, uint64(f.Kind))
	switch {
	case f.Kind.IsText():
		b = wire.AppendString(b, schema.WeftFact_Text, f.Text)
	case f.Number.IsInt():
		b = wire.AppendInt(b, schema.WeftFact_Integer, f.Number.Int())
	default:
		b = wire.AppendDouble(b, schema.WeftFact_Number, f.Number.Float())
	}
	b = wire.AppendUint(b, schema.WeftFact_Samples, uint64(f.Samples))
	b = wire.AppendUint(b, schema.WeftFact_StartNS, uint64(f.Start))
	b = wire.AppendUint(b, schema.WeftFact_EndNS, uint64(f.End))
	return wire.EndMessage(b, m)
}

// describeForPeople describes a process or thread: its id in the input, if its id in the output is assigned, and its facts.
//
//	In all samples: CPU % 0, eventDelay 0 ms, Sample category Idle
func describeForPeople(tr *timeline.Track) string {
	var parts, facts []string
	if tr.Assigned {
		parts = append(parts, describeInputID(tr))
	}
	for i := range tr.Facts {
		f := &tr.Facts[i]
		text := f.Kind.String() + " " + f.Value()
		if unit := f.Kind.Unit(); unit != "" && !strings.HasSuffix(f.Kind.String(), unit) {
			text += " " + unit
		}
		facts = append(facts, text)
	}
	if len(facts) > 0 {
		parts = append(parts, "In all samples: "+strings.Join(facts, ", "))
	}
	return strings.Join(parts, ". ")
}

// describeClock writes the descriptor of a thread's CPU time counter. The counter has no name: Perfetto accepts only the name
// thread_time for thread time.
func (w *writer) describeClock(uuid, thread uint64) error {
	b, packet := wire.BeginMessage(w.out.buf, schema.Trace_Packet)
	b = append(b, w.plain...)
	b, d := wire.BeginMessage(b, schema.TracePacket_TrackDescriptor)
	b = wire.AppendUint(b, schema.TrackDescriptor_UUID, uuid)
	b = wire.AppendUint(b, schema.TrackDescriptor_ParentUUID, thread)
	b, c := wire.BeginMessage(b, schema.TrackDescriptor_Counter)
	b = wire.AppendUint(b, schema.CounterDescriptor_Type, schema.CounterDescriptor_CounterThreadTimeNS)
	if unit := w.compact.threadUnit; unit != 1 {
		b = wire.AppendUint(b, schema.CounterDescriptor_UnitMultiplier, uint64(unit))
	}
	if w.threadTimes != nil {
		b = wire.AppendBool(b, schema.CounterDescriptor_IsIncremental, true)
	}
	b = wire.EndMessage(b, c)
	w.out.buf = wire.EndMessage(wire.EndMessage(b, d), packet)
	return w.out.packetDone()
}
