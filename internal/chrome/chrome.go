// Package chrome knows what events of Chrome and Node.js mean by their names, in whichever format they are recorded. It reads
// nothing.
package chrome

import "bytes"

// IsTask reports whether a slice of a thread is one of the tasks that the message loop of the thread runs one after the other.
// They nest only while a task runs a loop of its own.
func IsTask(name []byte) bool {
	if len(name) > len("ThreadControllerImpl::RunTask") {
		return false // a switch would copy a long name
	}
	switch string(name) {
	case "RunTask", "ThreadControllerImpl::RunTask", "ThreadPool_RunTask", // a task
		"ThreadController active", "WorkerThread active", // a time with tasks
		"EpollEvent": // what is not a task and keeps the loop busy as well
		return true
	}
	return false
}

// IsLoopTask reports whether a slice of a thread is one task of its event loop: not what a pool of threads runs, for which no
// event loop waits, and not a time with several tasks.
func IsLoopTask(name []byte) bool {
	if len(name) > len("ThreadControllerImpl::RunTask") {
		return false // a switch would copy a long name
	}
	switch string(name) {
	case "RunTask", "ThreadControllerImpl::RunTask":
		return true
	}
	return false
}

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
