package timeline

// SampleUnit is the unit of samples' weights, numbered as in Perfetto's StackSample.Unit; 0: unknown.
type SampleUnit uint32

// SampleUnitNanos is nanoseconds: a weight is the time that the sample represents.
const SampleUnitNanos SampleUnit = 1

// SampleDescription is the source of a trace's samples and the meaning of their weights. The zero value describes samples in trace
// events, with a weight of one each.
type SampleDescription struct {
	Source   string // "chrome", "linux.perf"
	Counter  string // "cycles"; the name of an Event overrides it
	Unit     SampleUnit
	UnitName string // of a unit without a number
}

// DescribeSamples sets the description of the samples given to Add. The last call wins.
func (b *Builder) DescribeSamples(d SampleDescription) { b.samples = d }

// SampleDescription returns the value given to DescribeSamples; used reports whether a sample has been added.
func (b *Builder) SampleDescription() (d SampleDescription, used bool) { return b.samples, b.anySample }

// SampleDescription returns the value given to DescribeSamples.
func (t *Timeline) SampleDescription() SampleDescription { return t.samples }
