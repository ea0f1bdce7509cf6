#!/usr/sbin/dtrace -s
/*
 * js.d: the script probes of provider trace_mozilla: functions, execution, objects
 *
 * Usage: dtrace -qs js.d -p PID -o FILE.probelines   (or -c 'PROGRAM ARGS')
 *    or: weft probes record --tracer dtrace --script js -p PID -o FILE.pftrace
 * Run with DTrace 2.0.7 on Linux.
 *
 * Texts are printed with %S (escaped). A null text is printed as "": copyinstr of a null pointer is an error, and the
 * record would be lost. Texts of strsize bytes and more are cut.
 */
#pragma D option quiet
#pragma D option bufsize=16m
#pragma D option strsize=1k
dtrace:::BEGIN
{
	printf("#probelines 1\n#clock monotonic\n#epoch %d\n", walltimestamp - timestamp);
	printf("#probe trace_mozilla:js_function-entry file:str class:str function:str key=file,function\n");
	printf("#probe trace_mozilla:js_execute-start file:str line:int key=file\n");
	printf("#probe trace_mozilla:js_object-create class:str object:ptr\n");
	printf("#probe trace_mozilla:js_object-create-start file:str class:str\n");
	printf("#probe trace_mozilla:js_object-finalize class:str object:ptr\n");
}
trace_mozilla$target:::
/!self->named/
{ self->named = 1; printf("#comm %d %d %S\n", pid, tid, execname); }
trace_mozilla$target:::js_function-entry, trace_mozilla$target:::js_function-return
{
	printf("P1\t%d\t%d\t%d\t%d\ttrace_mozilla:%s\t%S\t%S\t%S\n", timestamp, pid, tid, cpu, probename,
	    arg0 ? copyinstr(arg0) : "", arg1 ? copyinstr(arg1) : "", arg2 ? copyinstr(arg2) : "");
}
trace_mozilla$target:::js_execute-start, trace_mozilla$target:::js_execute-done
{ printf("P1\t%d\t%d\t%d\t%d\ttrace_mozilla:%s\t%S\t%d\n", timestamp, pid, tid, cpu, probename, arg0 ? copyinstr(arg0) : "", arg1); }
trace_mozilla$target:::js_object-create, trace_mozilla$target:::js_object-finalize
{ printf("P1\t%d\t%d\t%d\t%d\ttrace_mozilla:%s\t%S\t0x%x\n", timestamp, pid, tid, cpu, probename, arg0 ? copyinstr(arg0) : "", arg1); }
trace_mozilla$target:::js_object-create-start, trace_mozilla$target:::js_object-create-done
{ printf("P1\t%d\t%d\t%d\t%d\ttrace_mozilla:%s\t%S\t%S\n", timestamp, pid, tid, cpu, probename, arg0 ? copyinstr(arg0) : "", arg1 ? copyinstr(arg1) : ""); }
