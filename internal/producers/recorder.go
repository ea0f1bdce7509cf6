package producers

// recorderWork are slices in which a program works for what records it, and which would not be there without: patterns as in a categoryRule.
var recorderWork = []string{
	"CpuProfiler::…",                                                                       // of V8: StartProfiling goes through all functions
	"GlobalMemoryDump…", "ProcessMemoryDump", "MemoryDumpManager::…", "PeakMemoryTracking", // of Chrome's category memory-infra
	"V8.GC_OBJECT_DUMP_STATISTICS", "V8.GC_HEAP_DUMP_STATISTICS", // of the category v8.gc_stats
	"PProfiler::…", "PContent::Msg_InitProfiler", "ProfilerChild", "profiler-started", "profiler-stopped", "profiler-paused", // of Firefox
}

// RecorderNote is what people are told of a slice with a name that is the recorder's own work; "": it is not.
func RecorderNote(name string) string {
	if !IsRecorderWork(name) {
		return ""
	}
	return "(the recorder)"
}

// IsRecorderWork reports whether a slice with a name is the recorder's own work: the overhead of the recording, which no one waits for
// where nothing is recorded.
func IsRecorderWork(name string) bool { return matchesAny(name, recorderWork) }
