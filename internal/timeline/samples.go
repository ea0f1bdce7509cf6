package timeline

// SampleUnit is the unit of sample weights, numbered as in Perfetto's StackSample.Unit; 0: unknown.
type SampleUnit uint32

// SampleUnitNanos means nanoseconds: a weight is the time that the sample represents.
const SampleUnitNanos SampleUnit = 1

// SampleDescription describes the source of a trace's samples and the meaning of their weights. The zero value describes samples
// in trace events, each with a weight of one.
type SampleDescription struct {
	Source   string // "chrome", "linux.perf"
	Counter  string // "cycles"; the Name of an Event overrides it
	Unit     SampleUnit
	UnitName string // for a unit without a number
}

// DescribeSamples describes the samples passed to Add. The last call wins.
func (b *Builder) DescribeSamples(d SampleDescription) { b.samples = d }

// SampleDescription returns the value passed to DescribeSamples; used reports whether a sample has been added.
func (b *Builder) SampleDescription() (d SampleDescription, used bool) { return b.samples, b.anySample }

// SampleDescription returns the value passed to DescribeSamples.
func (t *Timeline) SampleDescription() SampleDescription { return t.samples }
