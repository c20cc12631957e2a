package copilot

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/usagescan/usagetest"
	"github.com/drawbar/drawbar/history"
)

func TestUsageLines(t *testing.T) {
	const stamp = `"timestamp":"2026-11-01T10:00:00.000Z"`
	start := `{"type":"session.start","data":{"context":{"cwd":"/w"}},` + stamp + "}\n"
	tokens := func(in, out, read, write int) string {
		return fmt.Sprintf(`"inputTokens":%d,"outputTokens":%d,"cacheReadTokens":%d,"cacheWriteTokens":%d,"reasoningTokens":1`, in, out, read, write)
	}
	call := func(id string, in, out, read, write int) string {
		return `{"type":"session.usage_record","data":{"usage":{"model":"m",` + tokens(in, out, read, write) + `,"cost":3,"apiCallId":"` + id + `"}},` + stamp + "}\n"
	}
	stop := func(in, out, read, write int) string {
		return `{"type":"session.shutdown","data":{"modelMetrics":{"m":{"requests":{"count":1,"cost":3},"usage":{` + tokens(in, out, read, write) + `}}}},` + stamp + "}\n"
	}
	const one = "S m /w in=100 read=40 write=7 out=30"
	for _, tc := range []struct {
		name, text string
		want       []string
	}{
		{"call", start + call("a", 147, 30, 40, 7), []string{one}},
		{"calls and their sum", start + call("a", 147, 30, 40, 7) + stop(147, 30, 40, 7), []string{one}},
		{"sums only", start + stop(147, 30, 40, 7), []string{one}},
		{"sums go on over a resume", start + stop(147, 30, 40, 7) + stop(294, 60, 80, 14), []string{one, one}},
		{"sums begin anew", start + stop(294, 60, 80, 14) + stop(147, 30, 40, 7), []string{"S m /w in=200 read=80 write=14 out=60", one}},
		{"calls go on over a resume", start + call("a", 147, 30, 40, 7) + stop(147, 30, 40, 7) + call("b", 147, 30, 40, 7) + stop(294, 60, 80, 14), []string{one, one}},
		{"a call that was not noted", start + call("a", 147, 30, 40, 7) + stop(294, 60, 80, 14), []string{one, one}},
		{"a sum that is less than its calls", start + call("a", 147, 30, 40, 7) + stop(0, 0, 0, 0), []string{one}},
		{"in a message", start + `{"type":"assistant.message","data":{"content":"` + strings.ReplaceAll(strings.TrimSpace(call("a", 1, 1, 1, 1)), `"`, `\"`) + `"},` + stamp + "}\n", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []string
			for _, r := range usagetest.Scan(Adapter{}.NewUsageScanner(t.Context(), adapter.Host{}, history.UsageFile{Rel: "S/events.jsonl"}), []byte(tc.text), 0) {
				if r.Stated {
					t.Error("premium requests are no money")
				}
				got = append(got, fmt.Sprintf("%s %s %s in=%d read=%d write=%d out=%d", r.Session, r.Model, r.Project, r.Input, r.CacheRead, r.CacheWrite, r.Output))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestUsageStores(t *testing.T) {
	for _, tc := range []struct{ home, want string }{{"", "/h/.copilot/session-state"}, {"/c", "/c/session-state"}} {
		s := Adapter{}.UsageStores(adapter.Host{Home: "/h", Getenv: func(string) string { return tc.home }})[0]
		if s.Root != tc.want || !s.Match("S/events.jsonl") || s.Match("S/x/events.jsonl") || s.Match("S/workspace.yaml") || s.Enter("S/files") {
			t.Errorf("%+v", s)
		}
	}
}
