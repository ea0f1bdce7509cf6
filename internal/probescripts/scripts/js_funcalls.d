#!/usr/sbin/dtrace -s
/*
 * js_funcalls.d: calls of script functions, by file and function
 *
 * Usage: dtrace -s js_funcalls.d -p PID   (Ctrl-C prints the table)
 * Run with DTrace 2.0.7 on Linux.
 *
 * Prints a table of its own and no records: weft report js-funcalls makes the same table of a recording. On Linux the
 * provider needs a pid, which $target is.
 */
#pragma D option quiet
dtrace:::BEGIN {
	printf("Tracing... Hit Ctrl-C to end.\n");
}
trace_mozilla$target:::js_function-entry {
	@funcs[basename(copyinstr(arg0)), copyinstr(arg2)] = count();
}
dtrace:::END {
	printf(" %-32s %-36s %8s\n", "FILE", "FUNC", "CALLS");
	printa(" %-32s %-36s %@8d\n", @funcs);
}
