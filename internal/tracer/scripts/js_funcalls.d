#!/usr/sbin/dtrace -s
/*
 * js_funcalls.d: calls of script functions, by file and function
 *
 * Usage: dtrace -s js_funcalls.d -p PID   (Ctrl-C prints the table)
 * Not run: written anew, after scripts whose tables DTrace 2.0.7 printed on Linux.
 *
 * Prints a table of its own and no records: weft report js-funcalls makes the same table of a recording. On Linux the
 * provider needs a pid, which $target is.
 */
#pragma D option quiet

trace_mozilla$target:::js_function-entry
{
	@calls[basename(copyinstr(arg0)), copyinstr(arg2)] = count();
}

END
{
	printf(" %-32s %-36s %8s\n", "FILE", "FUNC", "CALLS");
	printa(" %-32s %-36s %@8d\n", @calls);
}
