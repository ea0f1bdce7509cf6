package producers

import "bytes"

// HasIDPerThread reports whether each thread counts the asynchronous ids of a category for itself, so that one id is another
// thing on another thread: Node.js counts async ids, requests and timers of the console in each of its workers.
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
