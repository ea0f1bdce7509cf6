#!/usr/sbin/dtrace -s
/*
 * layout_count.d: how often each phase of layout begins, by context and function
 *
 * Usage: dtrace -s layout_count.d -p PID   (Ctrl-C prints the table)
 * Run with DTrace 2.0.7 on Linux.
 *
 * Prints a table of its own and no records: weft report layout-count makes the same table of a recording. On Linux the
 * provider needs a pid, which $target is.
 */
#pragma D option quiet

enum eLayoutPhases { EPaint, EReflow, EFrameC};

BEGIN {
	phaseStr[EPaint] = "paint";
	phaseStr[EReflow] = "reflow";
	phaseStr[EFrameC] = "frameCon";
}
trace_mozilla$target:::layout-start {
	@[arg0, phaseStr[arg1], probefunc] = count();
}
dtrace:::END {
	printf("%10s %10s %8s %-30s \n", "Pres Ctx", "Phase", "Count", "Function");
	printa("%10d [ %8s ] %5@d %-30s \n", @);
}
