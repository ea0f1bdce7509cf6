#!/usr/sbin/dtrace -s
/*
 * layout.d: the layout probes of provider trace_mozilla
 *
 * Usage: dtrace -qs layout.d -c 'PROGRAM ARGS' -o FILE.probelines   (or -p PID)
 *    or: weft probes record --tracer dtrace --script layout -c 'PROGRAM ARGS' -o FILE.pftrace
 * Run with DTrace 2.0.7 on Linux.
 */
#pragma D option quiet
#pragma D option bufsize=16m
dtrace:::BEGIN
{
	printf("#probelines 1\n#clock monotonic\n#epoch %d\n", walltimestamp - timestamp);
	printf("#probe trace_mozilla:layout-start presctx:ptr phase:enum(paint,reflow,frameCon) func:str key=presctx,phase\n");
}
trace_mozilla$target:::layout-start, trace_mozilla$target:::layout-end
/!self->named/
{ self->named = 1; printf("#comm %d %d %S\n", pid, tid, execname); }
trace_mozilla$target:::layout-start, trace_mozilla$target:::layout-end
{ printf("P1\t%d\t%d\t%d\t%d\ttrace_mozilla:%s\t0x%x\t%d\t%s\n", timestamp, pid, tid, cpu, probename, arg0, arg1, probefunc); }
