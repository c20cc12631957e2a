package session

import (
	"fmt"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/history"
	"github.com/drawbar/drawbar/sessions"
)

// talk makes a session of letters: lower case is the user's, upper case the assistant's, digits are tools'.
func talk(text string) history.Session {
	var s history.Session
	for _, c := range text {
		m := history.Message{Role: history.RoleUser, Content: string(c)}
		switch {
		case c >= 'A' && c <= 'Z':
			m.Role = history.RoleAssistant
		case c >= '0' && c <= '9':
			m = history.Message{Role: history.RoleTool, ToolResult: &history.ToolResult{Output: string(c)}}
		}
		s.Messages = append(s.Messages, m)
	}
	return s
}

func TestCompare(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, a, b, want string }{
		{"both empty", "", "", ""},
		{"the same", "aBc", "aBc", "=aa =BB =cc"},
		{"a fork goes on", "aB", "aBcD", "=aa =BB +c +D"},
		{"cut", "aBcD", "aB", "=aa =BB -c -D"},
		{"other words of the same role", "aBc", "aXc", "=aa ~BX =cc"},
		{"another role is no modification", "aBc", "axc", "=aa -B +x =cc"},
		{"put between", "ac", "abc", "=aa +b =cc"},
		{"taken out", "abc", "ac", "=aa -b =cc"},
		{"everything else", "ab", "CD", "-a -b +C +D"},
		{"more of the same role", "ab", "wxyz", "~aw ~bx +y +z"},
		{"from nothing", "", "aB", "+a +B"},
		{"results of tools", "a1B", "a2B", "=aa ~12 =BB"},
		{"moved", "abcX", "Xabc", "+X =aa =bb =cc -X"},
	} {
		d, err := Compare(talk(c.a), talk(c.b))
		if err != nil {
			t.Fatal(err)
		}
		text := func(m *history.Message) string {
			switch {
			case m == nil:
				return ""
			case m.ToolResult != nil:
				return m.ToolResult.Output
			}
			return m.Content
		}
		var got []string
		counts := map[sessions.Change]int{}
		for _, o := range d.Operations {
			counts[o.Type]++
			mark := map[sessions.Change]string{sessions.Added: "+", sessions.Removed: "-", sessions.Modified: "~", sessions.Unchanged: "="}[o.Type]
			got = append(got, mark+text(o.MessageA)+text(o.MessageB))
			if (o.IndexA < 0) != (o.MessageA == nil) || (o.IndexB < 0) != (o.MessageB == nil) || o.IndexA >= 0 && text(o.MessageA) != string(c.a[o.IndexA]) || o.IndexB >= 0 && text(o.MessageB) != string(c.b[o.IndexB]) {
				t.Errorf("%s: indexes of %+v", c.name, o)
			}
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: got %q, want %q", c.name, s, c.want)
		}
		if counts[sessions.Added] != d.Added || counts[sessions.Removed] != d.Removed || counts[sessions.Modified] != d.Modified || counts[sessions.Unchanged] != d.Unchanged {
			t.Errorf("%s: counts %+v", c.name, d)
		}
	}
}

// TestCompareLarge: a comparison has a bound, and long sessions with a common beginning are below it.
func TestCompareLarge(t *testing.T) {
	t.Parallel()
	var a, b history.Session
	for i := range 20000 {
		m := history.Message{Role: history.RoleUser, Content: fmt.Sprint("a", i)}
		a.Messages = append(a.Messages, m)
		b.Messages = append(b.Messages, history.Message{Role: history.RoleUser, Content: fmt.Sprint("b", i)})
	}
	if _, err := Compare(a, b); execution.CodeOf(err) != execution.CodeValidation || !strings.Contains(err.Error(), "export") {
		t.Errorf("%v", err)
	}
	c := a
	c.Messages = append(append([]history.Message{}, a.Messages...), b.Messages...)
	if d, err := Compare(a, c); err != nil || d.Unchanged != 20000 || d.Added != 20000 {
		t.Errorf("%d unchanged, %d added, %v", d.Unchanged, d.Added, err)
	}
}
