package producers

import "bytes"

// Class is the meaning of a Chrome or Node.js event name for building calls from samples.
type Class uint8

// The classes (profile-calls.md 5 and 7).
const (
	OtherClass     Class = iota
	Invocation           // the event runs JavaScript
	Task                 // RunTask: no call lasts beyond its start
	Microtasks           // RunMicrotasks: both an Invocation and a Task
	Engine               // V8 works for the running function; for DevTools an Invocation
	Callback             // JavaScript calls V8's embedder; for DevTools an Invocation
	Collection           // V8 collects garbage
	CollectionStep       // V8 collects garbage; for DevTools an Invocation
)

// ClassOf returns the class of events with the given name.
func ClassOf(name []byte) Class {
	if len(name) >= 2 && (name[0] == 'v' || name[0] == 'V') && name[1] == '8' {
		return classOfV8(name)
	}
	switch string(name) {
	case runTask:
		return Task
	case "RunMicrotasks":
		return Microtasks
	case "FunctionCall", "EvaluateScript", "EventDispatch":
		return Invocation
	case "MajorGC", "MinorGC":
		return Collection
	}
	return OtherClass
}

// RunsScript reports whether events with the given name run scripts, or are V8 work inside scripts.
func RunsScript(name []byte) bool {
	switch ClassOf(name) {
	case OtherClass, Task, Collection:
		return false
	}
	return true
}

// engineWork lists the name prefixes of events in which V8 compiles or handles an interrupt, without running JavaScript.
var engineWork = []string{
	"v8.compile", "V8.Compile", "V8.Optimize", "V8.Finalize", "V8.Parse", "V8.PreParse", "V8.Deoptimize", "V8.InstallOptimized",
	"V8.MarkCandidates", "V8.Maglev", "V8.BytecodeBudgetInterrupt", "V8.StackGuard", "V8.HandleInterrupts",
}

// classOfV8 is ClassOf for names that start with v8 or V8.
func classOfV8(name []byte) Class {
	if bytes.HasPrefix(name, []byte("V8.GC")) {
		return CollectionStep
	}
	for _, start := range engineWork {
		if len(name) >= len(start) && string(name[:len(start)]) == start {
			return Engine
		}
	}
	if string(name) == "V8.ExternalCallback" {
		return Callback
	}
	return Invocation
}

// Invokes reports whether an event runs JavaScript according to the DevTools rules.
func (c Class) Invokes() bool {
	return c == Invocation || c == Microtasks || c == Engine || c == Callback || c == CollectionStep
}

// OnStack reports whether an event runs on top of the JavaScript stack, if there is one.
func (c Class) OnStack() bool { return c == Engine || c == Callback || c.Collects() }

// Collects reports whether an event is a garbage collection.
func (c Class) Collects() bool { return c == Collection || c == CollectionStep }
