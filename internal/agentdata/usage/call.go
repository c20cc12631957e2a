package usage

import (
	"bytes"
	"cmp"

	"github.com/drawbar/drawbar/history"
)

// call is an history.UsageRecord with its strings as indices into a table.
type call struct {
	time                          int64
	key                           history.UsageKey
	twin                          uint64
	model, session, project, fork int32
	flags                         flags
	input, output, thinking       int64
	read, write, write1h          int64
	cost                          float64
}

type flags uint8

const (
	subAgent flags = 1 << iota
	stated
	statement
	inFamily
	costOnly // a cost without a call: stated for calls that no file contains
	copied
)

func (c *call) is(f flags) bool { return c.flags&f != 0 }

func (c *call) tokens() int64 { return c.input + c.output + c.read + c.write + c.write1h }

// better orders copies of a call by which one counts: the one from the session that made the call, then the one
// with the most tokens, which is its last state. Further rules make the choice independent of the reading
// order.
func better(a, b *call) int {
	return cmp.Or(
		cmp.Compare(a.flags&subAgent, b.flags&subAgent),
		cmp.Compare(a.flags&copied, b.flags&copied),
		cmp.Compare(b.tokens(), a.tokens()),
		cmp.Compare(b.flags&stated, a.flags&stated),
		cmp.Compare(a.time, b.time),
		cmp.Compare(a.session, b.session), // one session keeps all that it shares with another
		cmp.Compare(a.twin, b.twin),
		bytes.Compare(a.key[:], b.key[:]),
	)
}

// table returns indices for strings; the empty string is 0.
type table struct {
	names []string
	index map[string]int32
}

func newTable() *table { return &table{names: []string{""}, index: map[string]int32{"": 0}} }

func (t *table) of(s string) int32 {
	if i, ok := t.index[s]; ok {
		return i
	}
	i := int32(len(t.names))
	t.names = append(t.names, s)
	t.index[s] = i
	return i
}

func (t *table) record(r *history.UsageRecord) call {
	c := call{time: r.Time, key: r.Key, twin: r.Twin, model: t.of(r.Model), session: t.of(r.Session), project: t.of(r.Project), fork: t.of(r.Fork),
		input: r.Input, output: r.Output, thinking: r.Thinking, read: r.CacheRead, write: r.CacheWrite, write1h: r.CacheWrite1h, cost: r.Cost}
	for _, f := range []struct {
		set  bool
		flag flags
	}{{r.SubAgent, subAgent}, {r.Stated, stated}, {r.Statement, statement}, {r.InFamily, inFamily}, {r.Copied, copied}} {
		if f.set {
			c.flags |= f.flag
		}
	}
	return c
}

// adopt converts the indices of another table to those of t.
func (t *table) adopt(calls []call, names []string) {
	to := make([]int32, len(names))
	for i, s := range names {
		to[i] = t.of(s)
	}
	for i := range calls {
		c := &calls[i]
		c.model, c.session, c.project, c.fork = to[c.model], to[c.session], to[c.project], to[c.fork]
	}
}
