package otel

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

var record = flag.Bool("record", false, "record a browser and its server anew, into testdata")

// page requests data from the server, with its own span as the parent of the server's.
const page = `<!doctype html><title>weft</title><script>
const hex = n => [...crypto.getRandomValues(new Uint8Array(n))].map(b => b.toString(16).padStart(2, "0")).join("");
(async () => {
	for (let i = 0; i < 3; i++) {
		performance.mark("before " + i);
		const answer = await fetch("/api/items?n=" + i, {headers: {traceparent: "00-" + hex(16) + "-" + hex(8) + "-01"}});
		await answer.json();
	}
	document.body.textContent = "done";
})();
</script><body>`

// backend receives the exporter's data: OTLP requests in protobuf, which form one TracesData when concatenated.
type backend struct {
	mu   sync.Mutex
	sent []byte
}

func (b *backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sent = append(b.sent, body...)
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// serve returns the recorded server, which sends the span of each response in its Server-Timing header.
func serve(tracer trace.Tracer) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, page) })
	mux.HandleFunc("GET /api/items", func(w http.ResponseWriter, r *http.Request) {
		_, span := tracer.Start(r.Context(), "query items", trace.WithAttributes(attribute.String("db.system", "none"), attribute.Int("n", 3)))
		time.Sleep(5 * time.Millisecond)
		span.AddEvent("rows", trace.WithAttributes(attribute.IntSlice("ids", []int{1, 2, 3})))
		span.End()
		fmt.Fprint(w, `[1,2,3]`)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		span := trace.SpanContextFromContext(r.Context())
		traceID, spanID := span.TraceID(), span.SpanID()
		w.Header().Set("Server-Timing", fmt.Sprintf("traceparent;desc=\"00-%s-%s-01\"", hex.EncodeToString(traceID[:]), hex.EncodeToString(spanID[:])))
		mux.ServeHTTP(w, r)
	})
}

// TestRecord records a page in Chromium and its server with OpenTelemetry's SDK. The recordings are the inputs of
// TestMergeBrowserAndServer in cmd/weft.
func TestRecord(t *testing.T) {
	if !*record {
		t.Skip("-record records anew")
	}
	chromium := chromiumPath(t)
	collected := &backend{}
	sink := httptest.NewServer(collected)
	defer sink.Close()
	ctx := context.Background()
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(sink.URL+"/v1/traces"))
	if err != nil {
		t.Fatal(err)
	}
	provider := sdk.NewTracerProvider(sdk.WithSyncer(exporter), sdk.WithResource(resource.NewSchemaless(
		attribute.String("service.name", "items"), attribute.String("service.version", "1.0"), attribute.String("host.name", "example"),
		attribute.Int("process.pid", 4711))))
	server := httptest.NewServer(otelhttp.NewHandler(serve(provider.Tracer("example.com/items")), "server",
		otelhttp.WithTracerProvider(provider), otelhttp.WithPropagators(propagation.TraceContext{})))
	defer server.Close()
	browser := filepath.Join(t.TempDir(), "browser.json")
	if err := load(chromium, t.TempDir(), browser, server.URL); err != nil {
		t.Fatal(err)
	}
	if err := provider.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(browser)
	const to = "../../../testdata/traces/otlp/"
	err = errors.Join(err, os.WriteFile(to+"browser.json.gz", packed(text), 0o644), os.WriteFile(to+"server.otlp", collected.sent, 0o644))
	if err != nil {
		t.Fatal(err)
	}
}

// packed compresses a text with gzip.
func packed(text []byte) []byte {
	var out bytes.Buffer
	w, _ := gzip.NewWriterLevel(&out, gzip.BestCompression)
	w.Write(text)
	w.Close()
	return out.Bytes()
}

// load loads a page in Chromium, which records it.
func load(chromium, profile, to, url string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, chromium, "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir="+profile,
		"--trace-startup=-*,devtools.timeline,blink.user_timing", "--trace-startup-file="+to, "--trace-startup-format=json",
		"--timeout=2000", "--screenshot="+filepath.Join(profile, "page.png"), url)
	out, err := command.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

func chromiumPath(t *testing.T) string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("Chromium is not installed")
	return ""
}
