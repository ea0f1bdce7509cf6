package extsort

import (
	"cmp"
	"context"
)

// Ranks sorts nonnegative numbers in up to 262,144 groups, to find percentiles in each group. It must be closed.
type Ranks struct{ numbers *Sorter[ranked] }

// ranked is a number in a group.
type ranked struct{ number, group int64 }

// groupBits and numberBits are the sizes of a group and a number in the sort key; larger numbers are compared.
const (
	groupBits  = 18
	numberBits = 64 - groupBits
)

var rankOrder = Order[ranked]{
	Compare: func(a, b *ranked) int { return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.number, b.number)) },
	Key: func(v *ranked) uint64 {
		return uint64(v.group)<<numberBits | min(uint64(max(v.number, 0)), 1<<numberBits-1)
	},
}

// NewRanks returns a Ranks that uses up to memory bytes; more numbers are sorted in a file in dir ("": the system's directory).
func NewRanks(memory int64, dir string) *Ranks { return &Ranks{New(rankOrder, memory, dir)} }

// Add adds a number to a group. Errors come from the temporary file.
func (r *Ranks) Add(group, number int64) error { return r.numbers.Add(ranked{number, group}) }

// Each calls visit for all numbers, ordered by group and number, with their indexes within the group. No numbers can be added
// afterwards. Errors come from visit, the temporary file or ctx.
func (r *Ranks) Each(ctx context.Context, visit func(group, i, number int64) error) error {
	var v ranked
	for group, i := int64(-1), int64(0); ; i++ {
		ok, err := r.numbers.Next(&v)
		if err != nil || !ok {
			return err
		}
		if i&0xffff == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		if v.group != group {
			group, i = v.group, 0
		}
		if err := visit(v.group, i, v.number); err != nil {
			return err
		}
	}
}

// Close removes the temporary file.
func (r *Ranks) Close() error { return r.numbers.Close() }

// Percentile returns the index of a percentile among n sorted numbers: the index of the first number that is greater than or
// equal to at least that percentage of the numbers.
func Percentile(n, percent int64) int64 {
	whole, rest := n/100, n%100
	return whole*percent + (rest*percent+99)/100 - 1
}
