package producers

// recorderWork are the names of slices that exist only because of the recording: patterns as in a categoryRule.
var recorderWork = []string{
	"CpuProfiler::…",                                                                       // of V8: StartProfiling visits all functions
	"GlobalMemoryDump…", "ProcessMemoryDump", "MemoryDumpManager::…", "PeakMemoryTracking", // of Chrome's category memory-infra
	"V8.GC_OBJECT_DUMP_STATISTICS", "V8.GC_HEAP_DUMP_STATISTICS", // of the category v8.gc_stats
	"PProfiler::…", "PContent::Msg_InitProfiler", "ProfilerChild", "profiler-started", "profiler-stopped", "profiler-paused", // of Firefox
}

// RecorderNote returns the note for a slice with a name if it is work of the profiler; otherwise "".
func RecorderNote(name string) string {
	if !IsRecorderWork(name) {
		return ""
	}
	return "(the recorder)"
}

// IsRecorderWork reports whether a slice with a name is work of the profiler: overhead that is absent without recording.
func IsRecorderWork(name string) bool { return matchesAny(name, recorderWork) }
