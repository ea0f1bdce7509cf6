#!/usr/sbin/dtrace -s
/*
 * layout_time.d: the time of each phase of layout, by context
 *
 * Usage: dtrace -s layout_time.d -p PID   (Ctrl-C prints the table)
 * Not run: written anew, after scripts whose tables DTrace 2.0.7 printed on Linux.
 *
 * Prints a table of its own and no records: weft report layout-time makes the same table of a recording. On Linux the
 * provider needs a pid, which $target is.
 */
#pragma D option quiet

/* One start is remembered for each thread, context (arg0) and phase (arg1): a start inside another of its kind replaces it. */
trace_mozilla$target:::layout-start
{
	self->started[arg0, arg1] = timestamp;
}

trace_mozilla$target:::layout-end
/self->started[arg0, arg1] != 0/
{
	this->phase = arg1 == 0 ? "paint" : arg1 == 1 ? "reflow" : arg1 == 2 ? "frameCon" : "";
	this->microseconds = (timestamp - self->started[arg0, arg1]) / 1000;
	@taken[arg0, this->phase] = sum(this->microseconds);
	self->started[arg0, arg1] = 0;
}

END
{
	printf("%10s %10s %8s\n", "Pres Ctx", "Phase", "Time(usec)");
	printa("%10d [ %8s ] %5@d\n", @taken);
}
