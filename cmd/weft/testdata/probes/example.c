/* A program with static probes: it lays out two documents, runs script functions, and saves. */
#include <fcntl.h>
#include <sys/sdt.h>
#include <unistd.h>

enum phase { PAINT, REFLOW, FRAME_CONSTRUCTION };

static void work(int units) {
  for (volatile int i = 0; i < units * 10000; i++) {}
}

/* A tracer cannot read a page that the program itself has not read yet: it would see an empty text. */
volatile char seen;
static void touch(const char *text) { seen = *text; }

static void call(const char *file, const char *function, int units) {
  touch(file), touch(function);
  DTRACE_PROBE3(trace_mozilla, js_function__entry, file, "Window", function);
  work(units);
  DTRACE_PROBE3(trace_mozilla, js_function__return, file, "Window", function);
}

static void layout(void *context, enum phase phase, int depth) {
  DTRACE_PROBE2(trace_mozilla, layout__start, context, phase);
  work(5);
  if (phase == REFLOW) {
    layout(context, FRAME_CONSTRUCTION, 0);
    call("chrome://app/content/tree.js", "resize", 3);
    if (depth > 0) layout(context, REFLOW, depth - 1);
  }
  DTRACE_PROBE2(trace_mozilla, layout__end, context, phase);
}

static void save(void) {
  const char *file = "chrome://app/content/session.js", *function = "save", *path = "/dev/null";
  touch(file), touch(function), touch(path);
  DTRACE_PROBE3(trace_mozilla, js_function__entry, file, "Window", function);
  int out = open(path, O_WRONLY);
  if (write(out, "saved\n", 6) == 6) usleep(2000); /* waits */
  close(out);
  DTRACE_PROBE3(trace_mozilla, js_function__return, file, "Window", function);
}

int main(void) {
  void *page = (void *)140235064, *sidebar = (void *)149475272;
  for (int round = 0; round < 3; round++) {
    layout(page, REFLOW, 2);
    layout(page, PAINT, 0);
    call("chrome://app/content/events.js", "onload", 4);
  }
  layout(sidebar, REFLOW, 0);
  layout(sidebar, PAINT, 0);
  save();
  return 0;
}
