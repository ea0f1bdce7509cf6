// Package browsertest tests weft in a real browser: the pages that weft view shows, the traces that it hands over, and who can
// read them.
//
// It runs weft, drives Chromium, and replaces ui.perfetto.dev with a Stub, which treats pages that hand it a trace as the
// Perfetto UI does. It is a separate module, so that programs that use weft do not depend on it.
//
// Without Chromium, the tests are skipped with a message. With WEFT_BROWSER=required, which .ci/run sets, they fail instead. On
// Debian:
//
//	apt-get install --no-install-recommends chromium fonts-dejavu-core
//
// With WEFT_SCREENSHOTS=DIR, the tests save screenshots of the pages in DIR.
package browsertest
