#!/usr/sbin/dtrace -s
/*
 * layout_count.d: how often each phase of layout starts, by context and function
 *
 * Usage: dtrace -s layout_count.d -p PID   (Ctrl-C prints the table)
 * Not run: written anew, after scripts whose tables DTrace 2.0.7 printed on Linux.
 *
 * Prints a table of its own and no records: weft report layout-count makes the same table of a recording. On Linux the
 * provider needs a pid, which $target is.
 */
#pragma D option quiet

/* arg0: the context; arg1: the phase */
trace_mozilla$target:::layout-start
{
	this->phase = arg1 == 0 ? "paint" : arg1 == 1 ? "reflow" : arg1 == 2 ? "frameCon" : "";
	@starts[arg0, this->phase, probefunc] = count();
}

END
{
	printf("%10s %10s %8s %-30s \n", "Pres Ctx", "Phase", "Count", "Function");
	printa("%10d [ %8s ] %5@d %-30s \n", @starts);
}
