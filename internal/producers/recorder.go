package producers

// recorderWork lists the names of slices that exist only because of the recording, in the pattern form of a categoryRule.
var recorderWork = []string{
	"CpuProfiler::…",                                                                       // V8: StartProfiling visits all functions
	"GlobalMemoryDump…", "ProcessMemoryDump", "MemoryDumpManager::…", "PeakMemoryTracking", // Chrome's memory-infra category
	"V8.GC_OBJECT_DUMP_STATISTICS", "V8.GC_HEAP_DUMP_STATISTICS", // the v8.gc_stats category
	"PProfiler::…", "PContent::Msg_InitProfiler", "ProfilerChild", "profiler-started", "profiler-stopped", "profiler-paused", // Firefox
}

// RecorderNote returns the note for a slice with the given name if the slice is the profiler's own work; otherwise "".
func RecorderNote(name string) string {
	if !IsRecorderWork(name) {
		return ""
	}
	return "(the recorder)"
}

// IsRecorderWork reports whether a slice with the given name is the profiler's own work: overhead that is absent without
// recording.
func IsRecorderWork(name string) bool { return matchesAny(name, recorderWork) }
