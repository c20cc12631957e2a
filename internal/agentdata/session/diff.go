package session

import (
	"context"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/history"
	"github.com/drawbar/drawbar/sessions"
)

// maxTable limits the work of a comparison: the product of the lengths between the common beginning and end.
const maxTable = 64 << 20

// Diff compares two sessions by role and content.
func (s *Store) Diff(ctx context.Context, idA, idB string) (sessions.Difference, error) {
	a, err := s.Get(ctx, idA)
	if err != nil {
		return sessions.Difference{}, err
	}
	b, err := s.Get(ctx, idB)
	if err != nil {
		return sessions.Difference{}, err
	}
	return Compare(a, b)
}

// Compare compares two sessions: the longest common sequence of messages with the same role and content is
// kept; what lies between is removed, added, or modified if both sides have a message of the same role.
func Compare(a, b history.Session) (sessions.Difference, error) {
	d := &comparison{sessions.Difference{A: a.Summary, B: b.Summary, Operations: []sessions.Operation{}}}
	x, y := keys(a.Messages), keys(b.Messages)
	head := 0
	for head < len(x) && head < len(y) && x[head] == y[head] {
		head++
	}
	tail := 0
	for tail < len(x)-head && tail < len(y)-head && x[len(x)-1-tail] == y[len(y)-1-tail] {
		tail++
	}
	midX, midY := x[head:len(x)-tail], y[head:len(y)-tail]
	if len(midX) > 0 && len(midY) > maxTable/len(midX) {
		return sessions.Difference{}, execution.Errorf(execution.CodeValidation, "the sessions differ in %d and %d messages: too many to compare", len(midX), len(midY)).WithHint("export both with drawbar sessions export --format markdown and compare the files")
	}
	for i := range head {
		d.keep(a, b, i, i)
	}
	d.middle(a, b, midX, midY, head)
	for i := range tail {
		d.keep(a, b, len(x)-tail+i, len(y)-tail+i)
	}
	return d.Difference, nil
}

type messageKey struct {
	role          history.Role
	content, tool string
}

// keys are what messages are compared by: role and content, or a tool result's output.
func keys(messages []history.Message) []messageKey {
	out := make([]messageKey, len(messages))
	for i, m := range messages {
		out[i] = messageKey{role: m.Role, content: m.Content}
		if m.ToolResult != nil {
			out[i].tool = m.ToolResult.Output
		}
		for _, c := range m.ToolCalls {
			out[i].tool += "\x00" + c.ToolName + "\x00" + string(c.Input)
		}
	}
	return out
}

// comparison is a difference under construction.
type comparison struct{ sessions.Difference }

func (d *comparison) keep(a, b history.Session, i, j int) {
	d.Unchanged++
	d.Operations = append(d.Operations, sessions.Operation{Type: sessions.Unchanged, IndexA: i, IndexB: j, MessageA: &a.Messages[i], MessageB: &b.Messages[j]})
}

// middle walks the table of the longest common sequence.
func (d *comparison) middle(a, b history.Session, x, y []messageKey, offset int) {
	width := len(y) + 1
	table := make([]int32, (len(x)+1)*width)
	for i := len(x) - 1; i >= 0; i-- {
		for j := len(y) - 1; j >= 0; j-- {
			if x[i] == y[j] {
				table[i*width+j] = table[(i+1)*width+j+1] + 1
			} else {
				table[i*width+j] = max(table[(i+1)*width+j], table[i*width+j+1])
			}
		}
	}
	var removed, added []int
	flush := func() {
		d.replace(a, b, removed, added)
		removed, added = removed[:0], added[:0]
	}
	i, j := 0, 0
	for i < len(x) || j < len(y) {
		switch {
		case i < len(x) && j < len(y) && x[i] == y[j]:
			flush()
			d.keep(a, b, offset+i, offset+j)
			i, j = i+1, j+1
		case j == len(y) || i < len(x) && table[(i+1)*width+j] >= table[i*width+j+1]:
			removed = append(removed, offset+i)
			i++
		default:
			added = append(added, offset+j)
			j++
		}
	}
	flush()
}

// replace returns the operations for a run of removed messages. Two messages of the same role at the same place
// are one modified message.
func (d *comparison) replace(a, b history.Session, removed, added []int) {
	n := 0
	for n < len(removed) && n < len(added) && a.Messages[removed[n]].Role == b.Messages[added[n]].Role {
		d.Modified++
		d.Operations = append(d.Operations, sessions.Operation{Type: sessions.Modified, IndexA: removed[n], IndexB: added[n], MessageA: &a.Messages[removed[n]], MessageB: &b.Messages[added[n]]})
		n++
	}
	for _, i := range removed[n:] {
		d.Removed++
		d.Operations = append(d.Operations, sessions.Operation{Type: sessions.Removed, IndexA: i, IndexB: -1, MessageA: &a.Messages[i]})
	}
	for _, j := range added[n:] {
		d.Added++
		d.Operations = append(d.Operations, sessions.Operation{Type: sessions.Added, IndexA: -1, IndexB: j, MessageB: &b.Messages[j]})
	}
}
