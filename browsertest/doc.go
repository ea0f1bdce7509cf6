// Package browsertest tests weft in a real browser: what weft view shows and hands over, and who can read it.
//
// It runs the program itself, drives Chromium, and puts a Stub in the place of ui.perfetto.dev, which behaves as the Perfetto UI does
// towards pages that hand it a trace. It is a module of its own, so that programs that use weft need nothing of it.
//
// The tests are skipped where there is no Chromium, and say so; with WEFT_BROWSER=required, as .ci/run sets it, they fail. On Debian:
//
//	apt-get install --no-install-recommends chromium fonts-dejavu-core
//
// With WEFT_SCREENSHOTS=DIR the tests of the page leave pictures of it there.
package browsertest
