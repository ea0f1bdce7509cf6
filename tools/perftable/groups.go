package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weft-trace/weft/internal/tracegen"
)

// group is a set of rows that are measured together.
type group struct {
	name    string
	measure func(*bench) ([]row, error)
}

var groups = []group{
	{"conversion", (*bench).measureMainInputs},
	{"loading", (*bench).measureLoading},
	{"samples", (*bench).measureSamples},
	{"memory", (*bench).measureMemory},
	{"packet", (*bench).measurePacket},
	{"start", (*bench).measureStart},
	{"files", (*bench).measureManyFiles},
	{"ranks", (*bench).measureRanks},
}

func groupNames() string {
	var names []string
	for _, g := range groups {
		names = append(names, g.name)
	}
	return strings.Join(names, ", ")
}

func (b *bench) measureMainInputs() ([]row, error) {
	inputs, err := b.mainInputs()
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, in := range inputs {
		b.logf("  %s: %s, %s packed", in.name, sizeText(in.size), sizeText(in.packedSize))
		c, err := b.measureConversions(&in)
		if err != nil {
			return nil, err
		}
		rows = append(rows, b.conversionRows(c)...)
	}
	return rows, nil
}

// conversions holds the usage of each side on a main input, and the sizes of the outputs.
type conversions struct {
	*input

	scan, memory            usage // scanner and encoding/json on the events in memory
	decodeOne, decodeTwo    usage // encoding/json on the file, on one core and on two
	decodeAll               usage // with decoded arguments, on one core
	plainOne, plainTwo      usage // uncompressed output, on one core and on two
	fileOne, fileTwo        usage
	noneOne                 usage // without arguments
	callsOne, filePlain     usage // with calls and samples from V8 profiles; in plain packets
	defaultOne, defaultTwo  usage // default flags
	attributed              usage // with attribution, on two cores
	nonePlain               usage
	gunzip, gzPlain, gzFile usage // for the packed file, on two cores

	plainBytes, noneBytes, eventsBytes int64 // sizes of outputs
	plainFileBytes, plainNoneBytes     int64
	defaultBytes                       int64
}

// eventsOnly disables the calls and samples that weft adds from V8 profiles.
var eventsOnly = []string{"--js-calls", "off", "--samples", "none"}

func (b *bench) measureConversions(in *input) (*conversions, error) {
	c := &conversions{input: in}
	plain, none, file := b.path("plain.pftrace"), b.path("none.pftrace"), b.path("file.pftrace")
	plainFile, plainNone, calls := b.path("plain-file.pftrace"), b.path("plain-none.pftrace"), b.path("calls.pftrace")
	whole, attributed := b.path("default.pftrace"), b.path("attributed.pftrace")
	with := func(flags ...string) []string { return append(slices.Clone(eventsOnly), flags...) }
	toPlain, toFile, noArgs := with("--compress", "none"), with(), with("--compress", "none", "--args", "none")
	// Each side has as many cores as weft has workers.
	err := b.compare(
		side{b.child(1, "scan", in.plain), &c.scan},
		side{b.child(1, "memory", in.plain), &c.memory},
		side{b.child(1, "decode", in.plain), &c.decodeOne},
		side{b.convert(1, in.plain, plain, toPlain...), &c.plainOne},
		side{b.child(1, "decodeall", in.plain), &c.decodeAll},
		side{b.convert(1, in.plain, calls, "--compress", "none"), &c.callsOne},
		side{b.convert(1, in.plain, none, noArgs...), &c.noneOne},
		side{b.convert(1, in.plain, plainNone, append(noArgs, "--packets", "plain")...), &c.nonePlain},
		side{b.convert(1, in.plain, file, toFile...), &c.fileOne},
		side{b.child(2, "decode", in.plain), &c.decodeTwo},
		side{b.convert(2, in.plain, plain, toPlain...), &c.plainTwo},
		side{b.convert(2, in.plain, file, toFile...), &c.fileTwo},
		side{b.convert(2, in.plain, plainFile, append(toFile, "--packets", "plain")...), &c.filePlain},
		side{b.convert(1, in.plain, whole), &c.defaultOne},
		side{b.convert(2, in.plain, whole), &c.defaultTwo},
		side{b.convert(2, in.plain, attributed, "--attribute"), &c.attributed},
		side{b.child(2, "gunzip", in.packed), &c.gunzip},
		side{b.convert(2, in.packed, plain, toPlain...), &c.gzPlain},
		side{b.convert(2, in.packed, file, toFile...), &c.gzFile},
	)
	if err != nil {
		return nil, err
	}
	for path, size := range map[string]*int64{
		plain: &c.plainBytes, none: &c.noneBytes, file: &c.eventsBytes, plainFile: &c.plainFileBytes, plainNone: &c.plainNoneBytes,
		calls: new(int64), whole: &c.defaultBytes, attributed: new(int64),
	} {
		if *size, err = fileSize(path); err != nil {
			return nil, err
		}
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// maxScanAllocations is the number of allocations per event that counts as zero: a scan allocates only its window.
const maxScanAllocations = 0.001

// conversionRows returns the table rows for a main input.
func (b *bench) conversionRows(c *conversions) []row {
	add := func(promise int, input string, weft time.Duration, other string, than time.Duration) row {
		return row{
			promise: promise, input: input, value: ratio(than, weft),
			sides: fmt.Sprintf("weft %s (%s), %s %s", timeText(weft), speedText(c.size, weft), other, timeText(than)),
		}
	}
	const json, whole, plain = "encoding/json", "encoding/json with arguments", ", plain packets"
	return []row{
		b.scanRow(c),
		add(plainOutput, c.name, b.oneCore(c.plainOne), json, b.oneCore(c.decodeOne)),
		add(plainOutput, c.name+", arguments decoded", b.oneCore(c.plainOne), whole, b.oneCore(c.decodeAll)),
		add(plainOutput, c.name+", default flags, arguments decoded", b.oneCore(c.callsOne), whole, b.oneCore(c.decodeAll)),
		add(fileOutput, c.name, c.fileTwo.wall, json, c.decodeTwo.wall),
		add(fileOutput, c.name+plain, c.filePlain.wall, json, c.decodeTwo.wall),
		add(withoutArgs, c.name, b.oneCore(c.noneOne), json, b.oneCore(c.decodeOne)),
		add(twoWorkers, c.name+", uncompressed", c.plainTwo.wall, "one", c.plainOne.wall),
		add(twoWorkers, c.name+", compressed", c.fileTwo.wall, "one", c.fileOne.wall),
		{
			promise: packedInput, input: c.name, value: ratio(c.gzFile.wall, c.gunzip.wall),
			sides: fmt.Sprintf("weft %s (%s uncompressed), gunzip %s", timeText(c.gzFile.wall), timeText(c.gzPlain.wall), timeText(c.gunzip.wall)),
		},
		add(twoWorkers, c.name+", default flags", c.defaultTwo.wall, "one", c.defaultOne.wall),
		{
			promise: attributing, input: c.name, value: 100 * (ratio(c.attributed.wall, c.defaultTwo.wall) - 1),
			sides: fmt.Sprintf("with --attribute %s, without %s", timeText(c.attributed.wall), timeText(c.defaultTwo.wall)),
		},
		c.sizeRow(eventsSize, "", c.eventsBytes, c.packedSize, ".json.gz"),
		c.sizeRow(wholeSize, "", c.defaultBytes, c.packedSize, ".json.gz"),
		c.sizeRow(eventsSize, plain, c.plainFileBytes, c.packedSize, ".json.gz"),
		c.sizeRow(plainSize, "", c.plainBytes, c.size, "JSON"),
		c.sizeRow(noArgsSize, "", c.noneBytes, c.size, "JSON"),
		c.sizeRow(noArgsSize, plain, c.plainNoneBytes, c.size, "JSON"),
	}
}

// scanRow compares times measured inside the processes, because loading the events is not part of scanning them.
func (b *bench) scanRow(c *conversions) row {
	inside := func(u usage) time.Duration {
		return b.oneCore(usage{wall: seconds(u.Seconds), cpu: seconds(u.CPU)})
	}
	scan, decode := inside(c.scan), inside(c.memory)
	r := row{
		promise: scanning, input: c.name, value: ratio(decode, scan),
		sides: fmt.Sprintf("weft %s (%s, %.3f allocations per event), encoding/json %s (%.1f)", timeText(scan),
			speedText(c.scan.BytesRead, scan), c.scan.PerEvent, timeText(decode), c.memory.PerEvent),
	}
	switch {
	case c.scan.Events != c.memory.Events:
		r.broken = fmt.Sprintf("%d events scanned, %d decoded", c.scan.Events, c.memory.Events)
	case c.scan.PerEvent > maxScanAllocations:
		r.broken = "allocations"
	}
	return r
}

func (c *conversions) sizeRow(promise int, form string, weft, other int64, otherName string) row {
	return row{
		promise: promise, input: c.name + form, value: float64(weft) / float64(max(other, 1)),
		sides: fmt.Sprintf("weft %s, %s %s", sizeText(weft), otherName, sizeText(other)),
	}
}

// denseName is the benchmark with the most demanding samples.
const denseName = "BenchmarkSamples/chrome/dense/samples=1000000"

// measureSamples runs the benchmark for V8 samples.
func (b *bench) measureSamples() ([]row, error) {
	cmd := exec.CommandContext(b.ctx, "go", "test", "-run", "^$", "-bench", "^"+denseName+"$", "-benchtime", "2x", "-cpu", "1",
		"-count", strconv.Itoa(b.runs), "./convert")
	cmd.Dir = b.root
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, out)
	}
	metrics := benchMetrics(string(out))
	unit := "samples/s"
	if b.cpuTime {
		unit = "samples/cpu-s"
	}
	if len(metrics[unit]) == 0 {
		return nil, fmt.Errorf("%s reports other metrics than expected:\n%s", denseName, out)
	}
	speed := median(metrics[unit]) / 1e6
	return []row{{promise: denseSamples, value: speed, sides: fmt.Sprintf("weft %.2f M samples a second", speed)}}, nil
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// measureMemory converts a large trace, and one half its size, as users would.
func (b *bench) measureMemory() ([]row, error) {
	large := b.large * megabyte
	half, err := b.measureTrace(large / 2)
	if err != nil {
		return nil, err
	}
	full, err := b.measureTrace(large)
	if err != nil {
		return nil, err
	}
	added := 100 * (float64(full.peak)/float64(max(half.peak, 1)) - 1)
	peaks := fmt.Sprintf("%s: %s, %s: %s", sizeText(large/2), memoryText(half.peak), sizeText(large), memoryText(full.peak))
	in := "PyTorch-like, " + sizeText(large)
	return []row{
		{promise: peakMemoryOf, input: in, value: float64(full.peak) / (1 << 20), sides: "weft " + memoryText(full.peak)},
		{promise: peakGrowth, input: in, value: added, sides: peaks},
	}, nil
}

// measureTrace converts a generated trace with default flags.
func (b *bench) measureTrace(size int64) (u usage, err error) {
	path, err := b.trace(size)
	if err != nil {
		return u, err
	}
	output := b.path("trace.pftrace")
	if err := b.compare(side{b.convert(0, path, output), &u}); err != nil {
		return u, err
	}
	b.logf("  %s: %s, %s", sizeText(size), timeText(u.wall), memoryText(u.peak))
	return u, os.Remove(output)
}

func memoryText(bytes int64) string { return fmt.Sprintf("%.0f MiB", float64(bytes)/(1<<20)) }

// measurePacket runs the writer's benchmark, which is internal to its package.
func (b *bench) measurePacket() ([]row, error) {
	cmd := exec.CommandContext(b.ctx, "go", "test", "-run", "^$", "-bench", "^BenchmarkEncode$", "-cpu", "1", "-count", strconv.Itoa(b.runs), "./internal/pfwire")
	cmd.Dir = b.root
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, out)
	}
	metrics := benchMetrics(string(out))
	item, marshal, allocs := metrics["ns/op"], metrics["Marshal-ns/op"], metrics["allocs/op"]
	if len(item) == 0 || len(item) != len(marshal) || len(item) != len(allocs) {
		return nil, fmt.Errorf("BenchmarkEncode reports other metrics than expected:\n%s", out)
	}
	r := row{
		promise: hotPacket, value: median(marshal) / median(item),
		sides: fmt.Sprintf("weft %.1f ns (%.0f allocations), proto.Marshal %.0f ns", median(item), median(allocs), median(marshal)),
	}
	if median(allocs) > 0 {
		r.broken = "allocations"
	}
	return []row{r}, nil
}

// benchMetrics returns the values in benchmark results, by unit.
func benchMetrics(out string) map[string][]float64 {
	metrics := map[string][]float64{}
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		if len(fields) < 2 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		for i := 2; i+1 < len(fields); i += 2 { // after the name and the number of iterations
			if v, err := strconv.ParseFloat(fields[i], 64); err == nil {
				metrics[fields[i+1]] = append(metrics[fields[i+1]], v)
			}
		}
	}
	return metrics
}

// startRuns is the factor by which the number of runs is increased for measureStart, which takes only milliseconds per run.
const startRuns = 5

func (b *bench) measureStart() ([]row, error) {
	var walls []time.Duration
	for range startRuns * b.runs {
		u, err := b.run(command{program: b.weft, args: []string{"--version"}})
		if err != nil {
			return nil, err
		}
		walls = append(walls, u.wall)
	}
	wall := median(walls)
	return []row{{promise: starting, value: wall.Seconds() * 1e3, sides: "weft " + timeText(wall)}}, nil
}

// fileBytes is the size of each of the many files.
const fileBytes = 100_000

// measureManyFiles converts many small traces in one call, and one trace of their total size. Outputs are new files, as usual in
// a conversion; replacing many small files would add work for the file system.
func (b *bench) measureManyFiles() ([]row, error) {
	from, to, oneTo := b.path("files"), b.path("converted"), b.path("one")
	if err := os.Mkdir(from, 0o777); err != nil {
		return nil, err
	}
	many := command{program: b.weft, args: []string{"convert", "--quiet", "--out-dir", to}, folder: to}
	var total int64
	for i := range b.files {
		path := filepath.Join(from, fmt.Sprintf("%04d.json", i))
		if err := b.generate(path, tracegen.PyTorch{Seed: uint64(i), Bytes: fileBytes}); err != nil {
			return nil, err
		}
		size, err := fileSize(path)
		if err != nil {
			return nil, err
		}
		total += size
		many.args = append(many.args, path)
	}
	path, err := b.trace(total)
	if err != nil {
		return nil, err
	}
	one := b.convert(0, path, filepath.Join(oneTo, "one.pftrace"))
	one.folder = oneTo
	var single, all usage
	if err := b.compare(side{one, &single}, side{many, &all}); err != nil {
		return nil, err
	}
	return []row{{
		promise: manyFiles, input: fmt.Sprintf("%d files", b.files), value: 100 * ratio(single.wall, all.wall),
		sides: fmt.Sprintf("files %s, one file %s", speedText(total, all.wall), speedText(total, single.wall)),
	}}, nil
}

// fewRankFiles is the number of files in the smaller merge of ranks; the larger one has as many files as measureManyFiles
// converts.
const fewRankFiles = 64

// measureRanks merges the ranks of two training runs, one with few large files and one with many small ones, and converts one
// trace of the same total size.
func (b *bench) measureRanks() ([]row, error) {
	total := b.large * megabyte / 2
	path, err := b.trace(total)
	if err != nil {
		return nil, err
	}
	output := b.path("ranks.pftrace")
	few, err := b.mergeRanks("few", fewRankFiles, total, output)
	if err != nil {
		return nil, err
	}
	many, err := b.mergeRanks("many", b.files, total, output)
	if err != nil {
		return nil, err
	}
	var one, fewUsage, manyUsage usage
	if err := b.compare(side{b.convert(0, path, output), &one}, side{few, &fewUsage}, side{many, &manyUsage}); err != nil {
		return nil, err
	}
	var rows []row
	for _, m := range []struct {
		promise, files int
		usage
	}{{fewRanks, fewRankFiles, fewUsage}, {manyRanks, b.files, manyUsage}} {
		in := fmt.Sprintf("%d PyTorch-like files, together %s", m.files, sizeText(total))
		rows = append(rows, row{
			promise: m.promise, input: in, value: ratio(m.cpu, one.cpu),
			sides: fmt.Sprintf("merge %s, convert %s", timeText(m.cpu), timeText(one.cpu)),
		}, row{
			promise: ranksMemory, input: in, value: float64(m.peak) / (1 << 20),
			sides: fmt.Sprintf("merge %s, convert %s", memoryText(m.peak), memoryText(one.peak)),
		})
	}
	return rows, errors.Join(os.RemoveAll(b.path("few")), os.RemoveAll(b.path("many")), os.Remove(output))
}

// mergeRanks generates ranks of the same size in a folder and returns the command that merges them.
func (b *bench) mergeRanks(folder string, files int, total int64, output string) (c command, err error) {
	if err := os.Mkdir(b.path(folder), 0o777); err != nil {
		return c, err
	}
	c = command{program: b.weft, args: []string{"merge", "--quiet", "--force", "-o", output}}
	for i := range files {
		path := filepath.Join(b.path(folder), fmt.Sprintf("%04d.json", i))
		if err := b.generate(path, tracegen.PyTorch{Seed: uint64(i + 1), Bytes: total / int64(files)}); err != nil {
			return c, err
		}
		c.args = append(c.args, path)
	}
	return c, nil
}
