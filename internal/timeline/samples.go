package timeline

// SampleUnit is the unit of what the weights of samples count, numbered as in Perfetto's StackSample.Unit; 0 is "not
// known".
type SampleUnit uint32

// SampleUnitNanos means that weights are nanoseconds: the time that a sample represents.
const SampleUnitNanos SampleUnit = 1

// SampleDescription says where the samples of a trace come from and what their weights count. Empty texts are what the
// writer takes: samples of trace events, each counting as one.
type SampleDescription struct {
	Source   string // "chrome", "linux.perf"
	Counter  string // "cycles"; an Event that has a name counts that instead
	Unit     SampleUnit
	UnitName string // of a unit without number
}

// DescribeSamples says what the samples given to Add are. Of several descriptions the last one counts.
func (b *Builder) DescribeSamples(d SampleDescription) { b.samples = d }

// SampleDescription returns what DescribeSamples was given; used reports whether a sample was added.
func (b *Builder) SampleDescription() (d SampleDescription, used bool) { return b.samples, b.anySample }

// SampleDescription returns what DescribeSamples was given.
func (t *Timeline) SampleDescription() SampleDescription { return t.samples }
