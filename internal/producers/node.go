package producers

import "bytes"

// HasIDPerThread reports whether the asynchronous ids of a category are local to a thread: each Node.js worker counts async
// ids, requests and console timers separately.
func HasIDPerThread(category []byte) bool {
	rest, ok := bytes.CutPrefix(category, []byte("node,node."))
	if !ok {
		return false
	}
	switch string(rest) {
	case "async_hooks", "http", "console", "module_timer":
		return true
	}
	return false
}
