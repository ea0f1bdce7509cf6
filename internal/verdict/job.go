package verdict

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
)

// job judges recordings of devices such as GPUs.
func (j *judge) job() {
	var busy, idle, compute, communication, hidden, window timeline.Nanos
	least := &j.Slices.Devices[0]
	for i := range j.Slices.Devices {
		d := &j.Slices.Devices[i]
		busy, idle, window = busy+d.Busy, idle+d.Idle, window+d.Window
		compute, communication, hidden = compute+d.Compute, communication+d.Communication, hidden+d.Hidden
		if d.Idle > least.Idle {
			least = d
		}
	}
	n := len(j.Slices.Devices)
	late, kernel := j.lateRank(), j.topGroup(report.Kernels)
	switch {
	case late != nil && late.HeldUp > window/timeline.Nanos(n)/20:
		j.heading("", "The ranks wait for %s: it is last at %s of %s and holds the others up for %s", number(rankName(late)), number(table.Thousands(late.Last)),
			count(late.Collectives, "collective"), length(late.HeldUp))
	case idle > window/5 && n == 1:
		j.heading("", "%s was idle for %s of %s, %s", name(j.deviceTitle(least)), length(idle), length(window), percent(idle, window))
	case idle > window/5:
		j.heading("", "%s were idle for %s of the time; %s was the idlest, for %s", count(n, "device"), percent(idle, window), name(j.deviceTitle(least)), percent(least.Idle, least.Window))
	case n == 1:
		j.heading("", "%s was used well: busy for %s of %s%s", name(j.deviceTitle(least)), percent(busy, window), length(window), j.mostlyIn(kernel))
	default:
		j.heading("", "%s were used well: busy for %s of the time%s", count(n, "device"), percent(busy, window), j.mostlyIn(kernel))
	}
	j.deviceTiles(busy, window, communication, hidden)
	if idle > window/5 {
		j.issue(Issue{
			Title:  text("%s works for only %s of %s", name(j.deviceTitle(least)), length(least.Busy), length(least.Window)),
			Proof:  text("All devices together are idle for %s of the time from the first work of any to the last, %s.", percent(idle, window), length(idle)),
			Action: text("Give each device the same work, and start it at the same time."), Class: Yours, Gain: idle, Section: "slices",
		}, 60)
	}
	j.idleIssue()
	j.jobIssues(late, kernel, compute, communication, hidden)
}

// mostlyIn states the share of one kernel in the kernel time, for the end of a sentence.
func (j *judge) mostlyIn(kernel *report.SliceGroup) Text {
	if kernel == nil {
		return nil
	}
	return text(", and %s takes %s of the kernel time", name(kernelName(kernel.Name)), percent(kernel.Self, j.kindTime(report.Kernels)))
}

// kernelName shortens a kernel to the name of its function, without its return type, namespaces, template arguments and
// parameters.
func kernelName(kernel string) string {
	head := strings.ReplaceAll(kernel, "(anonymous namespace)::", "")
	if end := strings.IndexAny(head, "<("); end > 0 {
		head = head[:end]
	}
	if at := strings.LastIndexAny(head, " :"); at >= 0 {
		head = head[at+1:]
	}
	return cmp.Or(head, kernel)
}

// deviceTiles adds the tiles about devices.
func (j *judge) deviceTiles(busy, window, communication, hidden timeline.Nanos) {
	list := j.Slices.Devices
	note := "of " + table.Length(list[0].Window)
	if len(list) > 1 {
		note += " on " + table.Count(len(list), "device")
	}
	j.tile(Tile{Label: "Devices busy", Value: table.Percent(busy, window), Note: note, Section: "slices"})
	if len(list) > 1 && len(list) <= 3 {
		for i := range list {
			j.tile(Tile{Label: j.deviceTitle(&list[i]), Value: table.Percent(list[i].Busy, list[i].Window), Note: "busy", Section: "slices"})
		}
	}
	if communication > 0 {
		j.tile(Tile{Label: "Communication", Value: table.Length(communication), Note: table.Percent(hidden, communication) + " of it while kernels compute", Section: "slices"})
	}
	if n := len(j.Slices.Steps); n > 0 {
		longest, all := timeline.Nanos(0), timeline.Nanos(0)
		for i := range j.Slices.Steps {
			longest, all = max(longest, j.Slices.Steps[i].Duration), all+j.Slices.Steps[i].Duration
		}
		j.tile(Tile{Label: "Step", Value: table.Length(all / timeline.Nanos(n)), Note: fmt.Sprintf("on average of %d, up to %s", n, table.Length(longest)), Section: "slices"})
	}
	kernels, copies, bytes := int64(0), int64(0), int64(0)
	for i := range list {
		kernels, copies, bytes = kernels+list[i].Kernels, copies+list[i].Copies, bytes+list[i].Bytes
	}
	j.tile(Tile{Label: "Kernels", Value: table.Thousands(kernels), Section: "slices"})
	if copies > 0 {
		j.tile(Tile{Label: "Copies", Value: table.Thousands(copies), Note: table.Size(bytes), Section: "slices"})
	}
}

// deviceTitle names a device by its number, and in a merge of several ranks or files also by rank or file.
func (j *judge) deviceTitle(d *report.Device) string {
	title := fmt.Sprintf("GPU %d", d.Device)
	switch job := j.Slices.Job; {
	case job != nil && job.Ranks > 1 && d.Rank != nil:
		return fmt.Sprintf("rank %d, %s", *d.Rank, title)
	case d.Recorded.Input != "":
		return title + " of " + d.Recorded.Input
	}
	return title
}

// rankName names the rank of an arrival, or its device if the rank is unknown.
func rankName(a *report.Arrival) string {
	if a.Rank == nil {
		return fmt.Sprintf("GPU %d", a.Device)
	}
	return fmt.Sprintf("rank %d", *a.Rank)
}

// lateRank returns the rank that holds up the others longest at collectives; nil: none does.
func (j *judge) lateRank() (late *report.Arrival) {
	for i := range j.Slices.Arrivals {
		if a := &j.Slices.Arrivals[i]; a.HeldUp > 0 && (late == nil || a.HeldUp > late.HeldUp) {
			late = a
		}
	}
	return late
}

// topGroup returns the group of slices of a kind with the most self time; nil if no group has any.
func (j *judge) topGroup(kind report.SliceKind) *report.SliceGroup {
	if j.Slices == nil {
		return nil
	}
	for i := range j.Slices.Groups {
		if g := &j.Slices.Groups[i]; g.Kind == kind && g.Self > 0 && g.Name != "" && !(j.out.Kind == Probes && report.Sleeps(g.Name)) {
			return g
		}
	}
	return nil
}

// causeActions maps causes of gaps to their names and what to do about them.
var causeActions = map[report.GapCause][2]string{
	report.GapHost:       {"the CPU to launch work", "Launch earlier or in larger pieces: fuse kernels, use CUDA graphs, do not synchronize."},
	report.GapCollective: {"communication", "Overlap communication with computation, or send less at a time."},
	report.GapKernel:     {"kernels of other streams", "Let streams depend less on each other."},
	report.GapCopy:       {"copies", "Copy ahead of time, from pinned memory."},
	report.GapOther:      {"no known reason", "Look at the gaps with weft report slices --table gaps."},
	report.GapUnknown:    {"something that was not recorded", "Record the calls of the runtime as well (cuda_runtime)."},
}

// idleIssue adds an issue about what streams waited for most.
func (j *judge) idleIssue() {
	by, idle := map[report.GapCause]timeline.Nanos{}, timeline.Nanos(0)
	for i := range j.Slices.Idle {
		idle += j.Slices.Idle[i].Time
		for cause, t := range j.Slices.Idle[i].By {
			by[cause] += t
		}
	}
	var most report.GapCause
	for _, cause := range []report.GapCause{report.GapHost, report.GapCollective, report.GapKernel, report.GapCopy, report.GapOther, report.GapUnknown} {
		if by[cause] > by[most] {
			most = cause
		}
	}
	if words, ok := causeActions[most]; ok {
		j.issue(Issue{
			Title:  text("Streams wait for %s: %s", words[0], length(by[most])),
			Proof:  text("%s of the %s in which %s were idle between their first and last work.", percent(by[most], idle), length(idle), count(len(j.Slices.Idle), "stream")),
			Action: text("%s", words[1]), Class: Yours, Gain: by[most], Section: "slices",
		}, 60)
	}
}

// jobIssues adds issues about late ranks, communication and kernels.
func (j *judge) jobIssues(late *report.Arrival, kernel *report.SliceGroup, compute, communication, hidden timeline.Nanos) {
	if late != nil {
		j.issue(Issue{
			Title:  text("%s holds the others up for %s", number(strings.ToUpper(rankName(late)[:1])+rankName(late)[1:]), length(late.HeldUp)),
			Proof:  text("It came last to %s of %s.", number(table.Thousands(late.Last)), count(late.Collectives, "collective")),
			Action: text("Compare what it does before the collectives with the other ranks: more data, or a slower machine."), Class: Yours, Gain: several(late.HeldUp, max(int64(len(j.Slices.Devices))-1, 1)), Section: "slices",
		}, 70)
	}
	if exposed := communication - hidden; exposed > 0 {
		j.issue(Issue{
			Title:  text("Communication takes %s while nothing computes", length(exposed)),
			Proof:  text("%s of %s of communication; kernels compute for %s.", percent(exposed, communication), length(communication), length(compute)),
			Action: text("Start it earlier, or in smaller parts, so that kernels run meanwhile."), Class: Yours, Gain: exposed, Section: "slices",
		}, 50)
	}
	if kernel != nil {
		show := (*Moment)(nil)
		if kernel.MaxAt != nil {
			show = &Moment{*kernel.MaxAt, kernel.Max, kernel.MaxOn}
		}
		j.issue(Issue{
			Title:  text("%s takes %s of the kernel time", name(kernel.Name), percent(kernel.Self, j.kindTime(report.Kernels))),
			Proof:  text("%s runs, %s in all, the longest %s.", number(table.Thousands(kernel.Count)), length(kernel.Total), length(kernel.Max)),
			Action: text("Make it faster, or call it less: it is where the devices spend most."), Class: Yours, Gain: kernel.Self, Show: show, Section: "slices",
		}, 20)
	}
}

// kindTime returns the sum of the self times of slices of a kind.
func (j *judge) kindTime(kind report.SliceKind) (t timeline.Nanos) {
	for i := range j.Slices.Slices.Groups {
		if g := &j.Slices.Slices.Groups[i]; g.Kind == kind {
			t += g.Self
		}
	}
	return t
}
