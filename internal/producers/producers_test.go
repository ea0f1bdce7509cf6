package producers

import "testing"

func TestCategoryOf(t *testing.T) {
	for name, want := range map[string]Category{
		"MinorGC": CategoryGC, "GCMajor": CategoryGC, "V8.GC_SCAVENGER": CategoryGC, "CppGC.AtomicMark": CategoryGC, "v8.compileModule": CategoryCompile,
		"v8.produceModuleCache": CategoryCompile, "v8.parseOnBackground": CategoryLoad, "FunctionCall": CategoryScript,
		"WebSocketReceiveHandshakeResponse": CategoryScript, "UpdateLayoutTree": CategoryStyle, "Layout": CategoryLayout,
		"Layerize": CategoryComposite, "PrePaint": CategoryPaint, "RasterTask": CategoryRaster, "ResourceFinish": CategoryLoad,
		"LayoutShift": CategoryNone, "RunTask": CategoryNone, "": CategoryNone,
	} {
		if got := CategoryOf(name); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
}

func TestIsRecorderWork(t *testing.T) {
	for name, want := range map[string]bool{
		"CpuProfiler::StartProfiling": true, "GlobalMemoryDump": true, "GlobalMemoryDump.Computation": true, "MemoryDumpManager::InvokeOnMemoryDump": true,
		"PProfiler::Msg_Pause": true, "V8.GC_HEAP_DUMP_STATISTICS": true, "V8.GC_SCAVENGER": false, "RunTask": false, "profiler": false, "": false,
	} {
		if got := IsRecorderWork(name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
