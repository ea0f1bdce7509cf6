package load

import (
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/internal/readers/cpuprofile"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/v8profile"
	"github.com/weft-trace/weft/trace"
)

// ProfileAll is a value for Options.Profile that shows all V8 profiles in a trace.
const ProfileAll = "all"

// Profile is a V8 profile in a Chrome or Node trace. Profiles of the same thread cover the same time.
type Profile struct {
	PID     trace.Value `json:"pid"` // as in the input: an IntKind, a StringKind, or NoValue if it is not a number
	TID     trace.Value `json:"tid"` // of the sampled thread
	Process string      `json:"process"`
	Thread  string      `json:"thread"`
	ID      string      `json:"id"`
	Source  string      `json:"source"` // Internal, Inspector, SelfProfiling; empty if unknown
	Samples int         `json:"samples"`
	Start   trace.Nanos `json:"start_ns"`
	End     trace.Nanos `json:"end_ns"`
	Chosen  bool        `json:"chosen"` // shown on its thread
}

// A foundProfile is a profile whose thread may receive its name later.
type foundProfile struct {
	Profile
	thread timeline.TrackID
}

// addProfile records a profile for the report.
func (l *loader) addProfile(r *v8profile.Recording) {
	l.v8Profiles = append(l.v8Profiles, foundProfile{
		Profile: Profile{
			ID: r.ID, Source: r.Source, Samples: r.Profile.Len(), Start: r.Profile.Start, End: r.Profile.Closing, Chosen: r.Chosen,
		},
		thread: timeline.TrackID(r.Thread),
	})
}

// idValue converts the id of a process or thread for reports.
func idValue(id timeline.InputID) trace.Value {
	switch {
	case !id.HasNumber():
		return trace.Value{}
	case id.Text != "":
		return trace.NewValue(id.Text)
	}
	return trace.NewValue(id.Num)
}

// listProfiles returns the profiles for the report.
func (l *loader) listProfiles(t *timeline.Timeline) []Profile {
	var all []Profile
	for _, p := range l.v8Profiles {
		thread := t.Track(p.thread)
		process := t.Track(thread.Parent)
		p.PID, p.TID, p.Thread, p.Process = idValue(process.InputID), idValue(thread.InputID), thread.FullName(), process.FullName()
		all = append(all, p.Profile)
	}
	return all
}

// preferred returns a function that recognizes the profiles named by Options.Profile, or nil if it names none.
func (o *Options) preferred(b *timeline.Builder) func(process int64, id string) bool {
	if o.Profile == "" || o.Profile == ProfileAll {
		return nil
	}
	return func(process int64, id string) bool {
		if id == o.Profile {
			return true
		}
		number, rest, ok := strings.Cut(o.Profile, ":")
		if !ok || id != rest {
			return false
		}
		pid, err := strconv.ParseInt(number, 10, 64)
		return err == nil && process == int64(b.Process(timeline.ProcessKey{Num: pid}))
	}
}

// checkChoice returns a *v8profile.NotFoundError if a trace lacks the profile named by Options.Profile.
func (o *Options) checkChoice(all []*v8profile.Recording, preferred func(process int64, id string) bool) error {
	if preferred == nil {
		return nil
	}
	var ids []string
	for _, r := range all {
		if preferred(r.Process, r.ID) {
			return nil
		}
		if !slices.Contains(ids, r.ID) {
			ids = append(ids, r.ID)
		}
	}
	return &v8profile.NotFoundError{ID: o.Profile, Has: ids}
}

// profileMemory limits the memory for sampled profiles, in bytes. They are complete only when everything has been read, so the
// limit is the budget, but at least the default budget.
func (o *Options) profileMemory() int64 { return max(o.Memory, timeline.DefaultMemory) }

// cpuProfile returns the options for the .cpuprofile reader. If the profile belongs to a thread with events, its calls nest with
// these events, unless the thread already has a profile.
func (l *loader) cpuProfile() cpuprofile.Options {
	o := &l.opts
	opts := cpuprofile.Options{
		Options: l.readerOptions(), ProfileMemory: o.profileMemory(), CallDetails: o.CallDetails,
		NoCalls: o.JSCalls == JSCallsOff, Thread: l.profileOf,
	}
	if l.profileOf == 0 || opts.NoCalls {
		return opts
	}
	if slices.ContainsFunc(l.threads, func(t *jsThread) bool { return t.Track == l.profileOf }) {
		opts.SeparateCalls = true
		return opts
	}
	opts.Among = func(t *cpuprofile.Thread) {
		l.threads = append(l.threads, &jsThread{Thread: *t, calls: t.Track})
	}
	return opts
}
