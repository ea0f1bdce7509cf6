#!/usr/sbin/dtrace -s
/*
 * layout_time.d: the time of each phase of layout, by context
 *
 * Usage: dtrace -s layout_time.d -p PID   (Ctrl-C prints the table)
 * Run with DTrace 2.0.7 on Linux.
 *
 * Prints a table of its own and no records: weft report layout-time makes the same table of a recording. On Linux the
 * provider needs a pid, which $target is.
 */
#pragma D option quiet

enum eLayoutPhases { EPaint, EReflow, EFrameC};

dtrace:::BEGIN {
	phaseStr[EPaint] = "paint";
	phaseStr[EReflow] = "reflow";
	phaseStr[EFrameC] = "frameCon";
}
trace_mozilla$target:::layout-start {
	self->ts[arg0, arg1] = timestamp;
}
trace_mozilla$target:::layout-end
/self->ts[arg0, arg1]/
{
	@phase_time[arg0, phaseStr[arg1]] = sum((timestamp - self->ts[arg0, arg1])/1000);
	self->ts[arg0, arg1] = 0;
}
dtrace:::END {
	printf("%10s %10s %8s\n", "Pres Ctx", "Phase", "Time(usec)");
	printa("%10d [ %8s ] %5@d\n", @phase_time);
}
