package usage

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/oshost"
	"github.com/drawbar/drawbar/adapter/kit/usagescan"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/history"
	"github.com/drawbar/drawbar/sessions"
	"github.com/google/go-cmp/cmp"
)

// plainLog is an agent whose files have a UsageRecord a line, and "total" lines that are remembered.
type plainLog struct {
	home    string
	version int
}

func (l plainLog) UsageStores(adapter.Host) []history.UsageStore {
	return []history.UsageStore{{Root: l.home, Match: func(rel string) bool { return strings.HasSuffix(rel, ".log") },
		Unpack: func(rel string, r io.ReadCloser) (io.ReadCloser, error) {
			if strings.HasSuffix(rel, ".z.log") {
				return gzip.NewReader(r)
			}
			return r, nil
		},
		Enter: func(rel string) bool { return rel != "closed" }}}
}
func (l plainLog) UsageVersion() int { return l.version }
func (l plainLog) NewUsageScanner(context.Context, adapter.Host, history.UsageFile) adapter.UsageScanner {
	return usagescan.New(&plainFormat{})
}

type plainFormat struct{ Before string }

func (*plainFormat) Relevant(head []byte) bool { return bytes.HasPrefix(head, []byte("{")) }
func (f *plainFormat) Memory() any             { return f }
func (f *plainFormat) Line(line []byte, give func(*history.UsageRecord)) bool {
	var r struct {
		history.UsageRecord
		ID string
	}
	if json.Unmarshal(line, &r) != nil {
		return false
	}
	if r.ID != "" {
		r.Key = new(usagescan.Hash).Text(r.ID).Key()
	}
	if r.Model == "same" {
		r.Model = f.Before
	}
	f.Before = r.Model
	if r.Time == 0 {
		r.Time = at("2026-11-01T10:00:00Z")
	}
	give(&r.UsageRecord)
	return true
}

func at(s string) int64 {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		panic(err)
	}
	return t.UnixMilli()
}

var testModels = []execution.Model{
	{ID: "big", Aliases: []string{"b"}, Price: &execution.Price{Input: 10, Output: 100, CacheRead: new(float64(1)), CacheWrite: new(float64(20)), CacheWrite1h: new(float64(40))}},
	{ID: "big-mini", Price: &execution.Price{Input: 1, Output: 10}},
	{ID: "long", Price: &execution.Price{Input: 1, Output: 10, CacheRead: new(0.5), Long: &execution.LongPrice{Above: 1000000, Input: 2, Output: 20, CacheRead: new(1.0)}}},
	{ID: "unknown-price"},
}

// world is a machine with session files.
type world struct {
	t       *testing.T
	home    string
	cache   string
	version int
}

func newWorld(t *testing.T, files map[string]string) *world {
	t.Helper()
	w := &world{t: t, home: t.TempDir(), cache: filepath.Join(t.TempDir(), "usage"), version: 1}
	for name, text := range files {
		w.write(name, text)
	}
	return w
}

func (w *world) write(name, text string) {
	w.t.Helper()
	p := filepath.Join(w.home, name)
	if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) add(name, text string) {
	w.t.Helper()
	f, err := os.OpenFile(filepath.Join(w.home, name), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		w.t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) collect() *Log {
	w.t.Helper()
	l, err := Collect(w.t.Context(), []Source{{Agent: "plain", Log: plainLog{filepath.ToSlash(w.home), w.version}, Models: testModels}}, Options{Host: oshost.New(nil), CacheDir: w.cache})
	if err != nil {
		w.t.Fatal(err)
	}
	return l
}

func (w *world) report(q Query) sessions.Costs {
	w.t.Helper()
	if q.Location == nil {
		q.Location = time.UTC
	}
	r, err := w.collect().Report(q)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// brief is what a report says.
func brief(r sessions.Costs) []string {
	var list []string
	for _, g := range r.Groups {
		list = append(list, fmt.Sprintf("%s calls=%d out=%d $%.6g %s", g.Key, g.Calls, g.OutputTokens, g.TotalUSD, g.Source))
	}
	return list
}

func TestCopiesCountOnce(t *testing.T) {
	for _, tc := range []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"the last state of an answer", map[string]string{"a.log": `{"ID":"1","Model":"big","Session":"s","Output":2}
{"ID":"1","Model":"big","Session":"s","Output":50}
{"ID":"1","Model":"big","Session":"s","Output":7}
`}, []string{"plain:s calls=1 out=50 $0.005 estimated"}},
		{"far apart", map[string]string{"a.log": `{"ID":"1","Model":"big","Session":"s","Output":2}` + "\n" + strings.Repeat(`{"Model":"big","Session":"x","Output":1}`+"\n", 20) + `{"ID":"1","Model":"big","Session":"s","Output":50}` + "\n"},
			[]string{"plain:s calls=1 out=50 $0.005 estimated", "plain:x calls=20 out=20 $0.002 estimated"}},
		{"in two files", map[string]string{"a.log": `{"ID":"1","Model":"big","Session":"s","Output":20}`, "b/c.log": `{"ID":"1","Model":"big","Session":"t","Output":10}`},
			[]string{"plain:s calls=1 out=20 $0.002 estimated"}},
		{"the first of equals", map[string]string{"a.log": `{"ID":"1","Time":200,"Model":"big","Session":"late","Output":20}`, "b.log": `{"ID":"1","Time":100,"Model":"big","Session":"early","Output":20}`},
			[]string{"plain:early calls=1 out=20 $0.002 estimated"}},
		{"without a key there are no copies", map[string]string{"a.log": `{"Model":"big","Session":"s","Output":10}` + "\n" + `{"Model":"big","Session":"s","Output":10}` + "\n"},
			[]string{"plain:s calls=2 out=20 $0.002 estimated"}},
		{"a sub-agent's twin", map[string]string{"a.log": `{"ID":"1","Twin":7,"Model":"big","Session":"s","Output":10}`, "b.log": `{"ID":"2","Twin":7,"SubAgent":true,"Model":"big","Session":"s","Output":90}`},
			[]string{"plain:s calls=1 out=10 $0.001 estimated"}},
		{"a twin of a call whose copy in a fork is kept", map[string]string{
			"a.log": `{"ID":"1","Twin":7,"Time":200,"Model":"big","Session":"s","Output":10}`, "b.log": `{"ID":"1","Twin":8,"Time":100,"Model":"big","Session":"t","Output":10}`,
			"c.log": `{"ID":"2","Twin":7,"SubAgent":true,"Model":"big","Session":"s","Output":10}`},
			[]string{"plain:t calls=1 out=10 $0.001 estimated"}},
		{"twins of which none is a sub-agent's", map[string]string{"a.log": `{"ID":"1","Twin":7,"Model":"big","Session":"s","Output":10}`, "b.log": `{"ID":"2","Twin":7,"Model":"big","Session":"s","Output":90}`},
			[]string{"plain:s calls=2 out=100 $0.01 estimated"}},
		{"sub-agents' twins of each other", map[string]string{"a.log": `{"ID":"1","Twin":7,"SubAgent":true,"Model":"big","Session":"s","Output":10}`, "b.log": `{"ID":"2","Twin":7,"SubAgent":true,"Model":"big","Session":"s","Output":90}`},
			[]string{"plain:s calls=1 out=90 $0.009 estimated"}},
		{"a fork of a fork repeats", map[string]string{
			"a.log": `{"ID":"1","InFamily":true,"Model":"big","Session":"a","Output":10}`,
			"b.log": `{"ID":"1","InFamily":true,"Fork":"a","Time":1800000000000,"Model":"big","Session":"b","Output":10}`,
			"c.log": `{"ID":"1","InFamily":true,"Fork":"b","Time":1900000000000,"Model":"big","Session":"c","Output":10}`},
			[]string{"plain:a calls=1 out=10 $0.001 estimated"}},
		{"families do not mix", map[string]string{"a.log": `{"ID":"1","InFamily":true,"Model":"big","Session":"a","Output":10}`, "b.log": `{"ID":"1","InFamily":true,"Model":"big","Session":"b","Output":10}`},
			[]string{"plain:a calls=1 out=10 $0.001 estimated", "plain:b calls=1 out=10 $0.001 estimated"}},
		{"forks whose ancestor is gone, and forks of each other", map[string]string{
			"a.log": `{"ID":"1","InFamily":true,"Fork":"gone","Model":"big","Session":"a","Output":10}`, "b.log": `{"ID":"1","InFamily":true,"Fork":"gone","Model":"big","Session":"b","Time":1900000000000,"Output":10}`,
			"c.log": `{"InFamily":true,"ID":"2","Fork":"d","Model":"big","Session":"c","Output":10}`, "d.log": `{"InFamily":true,"ID":"3","Fork":"c","Model":"big","Session":"d","Output":10}`},
			[]string{"plain:a calls=1 out=10 $0.001 estimated", "plain:c calls=1 out=10 $0.001 estimated", "plain:d calls=1 out=10 $0.001 estimated"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := brief(newWorld(t, tc.files).report(Query{By: sessions.GroupSession}))
			slices.Sort(got)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPrices(t *testing.T) {
	for _, tc := range []struct {
		name, line string
		usd        float64
		source     sessions.CostSource
		unpriced   int
	}{
		{"every kind of token", `{"Model":"big","Input":1000000,"Output":1000000,"Thinking":5,"CacheRead":1000000,"CacheWrite":1000000,"CacheWrite1h":1000000}`, 171, sessions.CostEstimated, 0},
		{"a prompt that is not long", `{"Model":"long","Input":500000,"Output":100000,"CacheRead":500000}`, 1.75, sessions.CostEstimated, 0},
		{"a long prompt", `{"Model":"long","Input":600000,"Output":100000,"CacheRead":500000}`, 3.7, sessions.CostEstimated, 0},
		{"stated", `{"Model":"big","Output":1000000,"Stated":true,"Cost":0.25}`, 0.25, sessions.CostStated, 0},
		{"stated to be free", `{"Model":"big","Output":1000000,"Stated":true}`, 0, sessions.CostStated, 0},
		{"a kind without a price", `{"Model":"big-mini","Output":1000000,"CacheRead":1}`, 0, sessions.CostUnpriced, 1},
		{"a model without a price", `{"Model":"unknown-price","Output":1}`, 0, sessions.CostUnpriced, 1},
		{"an unknown model", `{"Model":"bigger","Output":1}`, 0, sessions.CostUnpriced, 1},
		{"no model", `{"Output":1}`, 0, sessions.CostUnpriced, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newWorld(t, map[string]string{"a.log": tc.line}).report(Query{})
			if math.Abs(r.Total.TotalUSD-tc.usd) > 1e-9 || r.Total.Source != tc.source || r.Total.UnpricedCalls != tc.unpriced || len(r.UnpricedModels) != tc.unpriced {
				t.Errorf("got %+v, %v", r.Total, r.UnpricedModels)
			}
		})
	}
	r := newWorld(t, map[string]string{"a.log": `{"Model":"big","Output":10}` + "\n" + `{"Model":"big","Output":10,"Stated":true,"Cost":1}` + "\n" + `{"Model":"x","Output":10}`}).report(Query{})
	if r.Total.Source != sessions.CostMixed || r.Total.UnpricedTokens != 10 || r.Total.StatedUSD != 1 || r.Total.EstimatedUSD != 0.001 {
		t.Errorf("%+v", r.Total)
	}
}

// An agent's own price comes first; a model that it knows without a price has that of whoever states one.
func TestPricesOfOthers(t *testing.T) {
	p := prices{lists: [][]execution.Model{{{ID: "a", Price: &execution.Price{Input: 1}}, {ID: "b"}}, {{ID: "a", Price: &execution.Price{Input: 2}}, {ID: "b", Price: &execution.Price{Input: 3}}, {ID: "c"}}}}
	for model, want := range map[string]float64{"a": 1, "b": 3} {
		if got := p.of(model); got == nil || got.Input != want {
			t.Errorf("%s: %+v", model, got)
		}
	}
	if p.of("c") != nil || p.of("d") != nil {
		t.Error("a price from nowhere")
	}
}

func TestMatch(t *testing.T) {
	list := []execution.Model{{ID: "claude-opus-4", Aliases: []string{"opus"}}, {ID: "claude-opus-4-5"}, {ID: "gpt-5"}, {ID: "gpt-5-codex"}}
	for name, want := range map[string]string{
		"claude-opus-4-5": "claude-opus-4-5", "claude-opus-4-5-20251101": "claude-opus-4-5", "claude-opus-4-20250514": "claude-opus-4",
		"claude-opus-4-5@20251101": "claude-opus-4-5", "us.anthropic.claude-opus-4-5-20251101-v1:0": "claude-opus-4-5", "anthropic/claude-opus-4-5": "claude-opus-4-5",
		"claude-opus-4-5[1m]": "claude-opus-4-5", "claude-opus-4-5-fast": "", "claude-opus-4-6": "", "claude-opus-45": "", "opus": "claude-opus-4", "claude-opus-4-latest": "claude-opus-4",
		"gpt-5-2026-03-05": "gpt-5", "gpt-5-codex": "gpt-5-codex", "gpt-5-mini": "", "gpt-5.4": "", "openai/gpt-5": "gpt-5", "": "", "gpt": "",
	} {
		got := ""
		if m := execution.FindModel(list, name); m != nil {
			got = m.ID
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

// A session states what it cost: by model, sub-agents included.
func TestStatements(t *testing.T) {
	line := func(id string, second int, sub bool, session string, out int) string {
		return fmt.Sprintf(`{"ID":"%s","Time":%d,"SubAgent":%v,"Model":"big","Session":"%s","Output":%d}`+"\n", id, second*1000, sub, session, out)
	}
	sum := func(second int, session, model string, out int, usd float64) string {
		return fmt.Sprintf(`{"Statement":true,"Stated":true,"Time":%d,"Model":"%s","Session":"%s","Output":%d,"Cost":%g}`+"\n", second*1000, model, session, out, usd)
	}
	for _, tc := range []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"all calls", map[string]string{"a.log": line("1", 1, false, "s", 10) + line("2", 2, false, "s", 30) + sum(2, "s", "big", 40, 1)}, []string{"plain:s calls=2 out=40 $1 stated"}},
		{"side requests cost too", map[string]string{"a.log": line("1", 1, false, "s", 10) + sum(1, "s", "big", 500, 1)}, []string{"plain:s calls=1 out=10 $1 stated"}},
		{"another model was called that no file tells of", map[string]string{"a.log": line("1", 1, false, "s", 10) + sum(1, "s", "big", 10, 1) + sum(1, "s", "tiny", 10, 0.5)}, []string{"plain:s calls=1 out=10 $1.5 stated"}},
		{"the window in the name", map[string]string{"a.log": line("1", 1, false, "s", 10) + sum(1, "s", "big[1m]", 10, 1)}, []string{"plain:s calls=1 out=10 $1 stated"}},
		{"sub-agents in their own files, one ending late", map[string]string{"a.log": line("1", 1, false, "s", 10) + sum(1, "s", "big", 30, 1), "sub.log": line("2", 1, true, "s", 10) + line("3", 9, true, "s", 10)},
			[]string{"plain:s calls=3 out=30 $1 stated"}},
		{"what came after", map[string]string{"a.log": line("1", 1, false, "s", 10) + sum(1, "s", "big", 10, 1) + line("2", 5, false, "s", 10)}, []string{"plain:s calls=2 out=20 $1.001 mixed"}},
		{"two in turn", map[string]string{"a.log": line("1", 1, false, "s", 10) + sum(1, "s", "big", 10, 1) + line("2", 5, false, "s", 10) + sum(5, "s", "big", 10, 0.5)}, []string{"plain:s calls=2 out=20 $1.5 stated"}},
		{"too little for the calls: another process did not end well", map[string]string{"a.log": line("1", 1, false, "s", 10) + line("2", 2, false, "s", 30) + sum(2, "s", "big", 30, 1)}, []string{"plain:s calls=2 out=40 $0.004 estimated"}},
		{"a fork states what it has copied too", map[string]string{"a.log": line("1", 1, false, "s", 10) + sum(1, "s", "big", 10, 1), "b.log": line("1", 1, false, "t", 10) + line("2", 5, false, "t", 10) + sum(5, "t", "big", 20, 2)},
			[]string{"plain:s calls=1 out=10 $1 stated", "plain:t calls=1 out=10 $1 stated"}},
		{"an answer that is in two files, of which one has its end", map[string]string{"a.log": line("1", 1, false, "s", 2) + sum(2, "s", "big", 10, 1), "b.log": line("1", 1, true, "s", 10)},
			[]string{"plain:s calls=1 out=2 $1 stated"}},
		{"an answer in two states far apart", map[string]string{"a.log": line("1", 1, false, "s", 2), "b.log": line("1", 1, false, "s", 10) + sum(2, "s", "big", 10, 1)}, []string{"plain:s calls=1 out=10 $1 stated"}},
		{"an answer of several lines", map[string]string{"a.log": line("1", 1, false, "s", 2) + line("1", 1, false, "s", 10) + sum(1, "s", "big", 10, 1)}, []string{"plain:s calls=1 out=10 $1 stated"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := brief(newWorld(t, tc.files).report(Query{By: sessions.GroupSession}))
			slices.Sort(got)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestQuery(t *testing.T) {
	w := newWorld(t, map[string]string{"a.log": `{"Time":` + fmt.Sprint(at("2026-10-31T23:30:00Z")) + `,"Model":"big-20260101","Session":"s","Project":"/w/a","Output":1}
{"Time":` + fmt.Sprint(at("2026-11-01T10:00:00Z")) + `,"Model":"big","Session":"s","Project":"/w/a/sub","Output":2}
{"Time":` + fmt.Sprint(at("2026-11-02T10:00:00Z")) + `,"Model":"big-mini","Session":"t","Project":"/w/ab","Output":4,"SubAgent":true}
`})
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		q    Query
		want string
	}{
		{"agents", Query{}, "plain=7"},
		{"days", Query{By: sessions.GroupDay}, "2026-10-31=1 2026-11-01=2 2026-11-02=4"},
		{"days of another zone", Query{By: sessions.GroupDay, Location: berlin}, "2026-11-01=3 2026-11-02=4"},
		{"months", Query{By: sessions.GroupMonth}, "2026-10=1 2026-11=6"},
		{"models", Query{By: sessions.GroupModel}, "big-20260101=1 big-mini=4 big=2"},
		{"projects", Query{By: sessions.GroupProject}, "/w/a/sub=2 /w/a=1 /w/ab=4"},
		{"sessions", Query{By: sessions.GroupSession}, "plain:s=3 plain:t=4"},
		{"since", Query{Since: time.UnixMilli(at("2026-11-01T10:00:00Z"))}, "plain=6"},
		{"until", Query{Until: time.UnixMilli(at("2026-11-01T10:00:00Z"))}, "plain=1"},
		{"a model and its deliveries", Query{Model: "big"}, "plain=3"},
		{"an alias", Query{Model: "b"}, "plain=3"},
		{"one delivery", Query{Model: "big-20260101"}, "plain=1"},
		{"a directory and below", Query{Project: "/w/a"}, "plain=3"},
		{"a directory with an end", Query{Project: "/w/a/"}, "plain=3"},
		{"some sessions", Query{Sessions: map[string]bool{"plain:t": true}}, "plain=4"},
		{"no sessions", Query{Sessions: map[string]bool{}}, ""},
		{"the agent", Query{Agent: "plain"}, "plain=7"},
		{"another agent", Query{Agent: "x"}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []string
			r := w.report(tc.q)
			for _, g := range r.Groups {
				got = append(got, fmt.Sprintf("%s=%d", g.Key, g.OutputTokens))
			}
			slices.Sort(got)
			if strings.Join(got, " ") != tc.want {
				t.Errorf("got %v, want %s", got, tc.want)
			}
		})
	}
	if r := w.report(Query{}); r.Total.Calls != 3 || r.Total.Sessions != 2 || r.Total.SubAgentCalls != 1 {
		t.Errorf("%+v", r.Total)
	}
	if _, err := (&Log{}).Report(Query{By: "colour"}); err == nil || !strings.Contains(err.Error(), `"colour"`) {
		t.Errorf("%v", err)
	}
}

func TestCache(t *testing.T) {
	const one = `{"ID":"1","Model":"big","Session":"s","Output":10}` + "\n"
	output := func(w *world) (int64, int64) {
		r := w.report(Query{})
		return r.Total.OutputTokens, r.BytesRead
	}
	t.Run("what has not changed is not read", func(t *testing.T) {
		w := newWorld(t, map[string]string{"a.log": one})
		if out, read := output(w); out != 10 || read != int64(len(one)) {
			t.Fatal(out, read)
		}
		if out, read := output(w); out != 10 || read != 0 {
			t.Error(out, read)
		}
	})
	t.Run("what has grown is gone on with", func(t *testing.T) {
		w := newWorld(t, map[string]string{"a.log": one})
		output(w)
		const more = `{"Model":"same","Session":"s","Output":5}` + "\n"
		w.add("a.log", more)
		r := w.report(Query{By: sessions.GroupModel})
		if r.BytesRead != int64(len(more)) || len(r.Groups) != 1 || r.Total.OutputTokens != 15 {
			t.Errorf("%d read, %+v", r.BytesRead, r.Groups)
		}
	})
	t.Run("half a line is read again when it is whole", func(t *testing.T) {
		w := newWorld(t, map[string]string{"a.log": one + one[:20]})
		if out, _ := output(w); out != 10 {
			t.Fatal(out)
		}
		w.add("a.log", strings.Replace(one[20:], "10", "30", 1))
		if out, _ := output(w); out != 30 { // the same call, in its last state
			t.Error(out)
		}
	})
	t.Run("a whole line without its end counts once", func(t *testing.T) {
		const bare = `{"Model":"big","Session":"s","Output":5}`
		w := newWorld(t, map[string]string{"a.log": one + bare})
		for range 2 {
			if out, _ := output(w); out != 15 {
				t.Fatal(out)
			}
		}
		w.add("a.log", "\n"+bare)
		if out, _ := output(w); out != 20 {
			t.Error(out)
		}
	})
	for name, change := range map[string]func(w *world){
		"rewritten": func(w *world) {
			w.write("a.log", strings.Repeat(one[:0]+`{"ID":"2","Model":"big","Session":"s","Output":7}`+"\n", 3))
		},
		"cut": func(w *world) { w.write("a.log", `{"ID":"2","Output":7}`+"\n") },
		"replaced": func(w *world) {
			_ = os.Remove(filepath.Join(w.home, "a.log"))
			w.write("b.log", `{"ID":"2","Output":7}`)
		},
		"read anew by": func(w *world) { w.version = 2; w.write("a.log", `{"ID":"2","Output":7}`) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, map[string]string{"a.log": one})
			output(w)
			change(w)
			if out, _ := output(w); out != 7 {
				t.Error(out)
			}
			if out, read := output(w); out != 7 || read != 0 {
				t.Error(out, read)
			}
		})
	}
	t.Run("another version of the scanner reads all again", func(t *testing.T) {
		w := newWorld(t, map[string]string{"a.log": one})
		output(w)
		w.version = 2
		if out, read := output(w); out != 10 || read == 0 {
			t.Error(out, read)
		}
	})
	t.Run("another version reads all of what has grown", func(t *testing.T) {
		w := newWorld(t, map[string]string{"a.log": one})
		output(w)
		w.version = 2
		w.add("a.log", one)
		if out, read := output(w); out != 10 || read != int64(2*len(one)) {
			t.Error(out, read)
		}
	})
	t.Run("damaged", func(t *testing.T) {
		w := newWorld(t, map[string]string{"a.log": one})
		output(w)
		files, err := filepath.Glob(filepath.Join(w.cache, "*.bin"))
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			for _, damaged := range [][]byte{nil, b[:len(b)/2], append([]byte("x"), b...), bytes.Repeat([]byte{0xff}, 200), append(b[:len(b)-6:len(b)-6], 0, 0, 0, 0, 0, 0)} {
				if err := os.WriteFile(f, damaged, 0o600); err != nil {
					t.Fatal(err)
				}
				if out, read := output(w); out != 10 || read == 0 {
					t.Error(out, read)
				}
			}
		}
	})
	t.Run("no folder for it", func(t *testing.T) {
		w := newWorld(t, map[string]string{"a.log": one})
		w.cache = filepath.Join(w.home, "a.log", "usage")
		l, err := Collect(t.Context(), []Source{{Agent: "plain", Log: plainLog{w.home, 1}, Models: testModels}}, Options{Host: oshost.New(nil), CacheDir: w.cache})
		if err == nil || l == nil || !strings.Contains(err.Error(), "a.log") {
			t.Fatalf("%v, %v", l, err)
		}
		if r, err := l.Report(Query{}); err != nil || r.Total.OutputTokens != 10 {
			t.Error(r.Total, err)
		}
	})
	t.Run("many at once", func(t *testing.T) {
		w := newWorld(t, nil)
		for i := range 60 {
			w.write(fmt.Sprintf("%d.log", i), strings.Replace(one, `"1"`, fmt.Sprintf(`"%d"`, i), 1))
		}
		var wg sync.WaitGroup
		for range 6 {
			wg.Go(func() {
				for range 5 {
					if out, _ := output(w); out != 600 {
						t.Errorf("%d", out)
					}
				}
			})
		}
		wg.Wait()
		if left, _ := filepath.Glob(filepath.Join(w.cache, "new-*")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
		if out, read := output(w); out != 600 || read != 0 {
			t.Error(out, read)
		}
	})
}

func TestProblems(t *testing.T) {
	w := newWorld(t, map[string]string{
		"good.log":            `{"Model":"big","Output":1}` + "\n",
		"bad.log":             `{"Model":"big","Output":2}` + "\n{broken\n" + `{"Model":"big","Output":4}` + "\n{broken\n",
		"empty.log":           "",
		"binary.log":          "\x00\x01\x02\xff\n\n",
		"other.txt":           `{"Model":"big","Output":8}`,
		"x/closed.log/in.log": `{"Model":"big","Output":16}` + "\n",
		"closed/in.log":       `{"Model":"big","Output":32}` + "\n",
	})
	if err := os.Symlink(filepath.Join(w.home, "nowhere"), filepath.Join(w.home, "dangling.log")); err != nil {
		t.Log(err)
	}
	if err := os.Symlink(w.home, filepath.Join(w.home, "loop")); err != nil {
		t.Log(err)
	}
	want := 1
	away := filepath.Join(t.TempDir(), "away.log")
	if err := os.WriteFile(away, []byte(`{"Model":"big","Output":64}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(away, filepath.Join(w.home, "zz.log")); err != nil {
		t.Log(err)
	} else {
		want++
	}
	if os.Getuid() > 0 {
		w.write("locked.log", "{}")
		if err := os.Chmod(filepath.Join(w.home, "locked.log"), 0); err != nil {
			t.Fatal(err)
		}
		want++
	}
	for range 2 { // said again when the file was not read again
		r := w.report(Query{})
		if r.Total.OutputTokens != 1+2+4+16 {
			t.Errorf("%d tokens", r.Total.OutputTokens)
		}
		slices.SortFunc(r.Problems, func(a, b sessions.CostProblem) int { return strings.Compare(a.File, b.File) })
		if len(r.Problems) != want || !strings.HasSuffix(r.Problems[0].File, "/bad.log") || !strings.Contains(r.Problems[0].Error, "2 lines are damaged, the first at byte 27") {
			t.Errorf("%+v", r.Problems)
		}
		if last := r.Problems[len(r.Problems)-1]; strings.HasSuffix(last.File, "/zz.log") && !strings.Contains(last.Error, "is a link out of the store, to "+away) {
			t.Errorf("%+v", last)
		}
	}
}

// A line of more than 64 MiB is read where it tells of usage, and passed over where not; neither is a problem.
func TestGiganticLines(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED with -short: it writes 140 MB")
	}
	w := newWorld(t, nil)
	f, err := os.Create(filepath.Join(w.home, "a.log"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("x", 1<<20)
	put := func(s string) {
		if _, err := f.WriteString(s); err != nil {
			t.Fatal(err)
		}
	}
	for _, begin := range []string{`-{"Output":100,"More":"`, `{"Output":1,"Model":"big","More":"`} {
		put(begin)
		for range 68 {
			put(text)
		}
		put("\"}\n")
	}
	put(`{"Output":2,"Model":"big"}` + "\n")
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if r := w.report(Query{}); r.Total.OutputTokens != 3 || len(r.Problems) > 0 {
		t.Errorf("%+v %+v", r.Total, r.Problems)
	}
}

func TestPackedFiles(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(strings.Repeat(`{"Model":"big","Output":1}`+"\n", 100))); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, map[string]string{"a.z.log": b.String(), "cut.z.log": b.String()[:30], "b.log": `{"Model":"big","Output":1}` + "\n"})
	for i := range 2 {
		r := w.report(Query{})
		if r.Total.OutputTokens != 101 || len(r.Problems) != 1 || !strings.HasSuffix(r.Problems[0].File, "/cut.z.log") || (i == 1) != (r.BytesRead == 0) {
			t.Errorf("%d: %+v, %d read", r.Total.OutputTokens, r.Problems, r.BytesRead)
		}
	}
	b.Reset()
	z.Reset(&b)
	_, _ = z.Write([]byte(`{"Model":"big","Output":7}` + "\n" + strings.Repeat("-\n", 1000)))
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	w.write("a.z.log", b.String())
	if r := w.report(Query{}); r.Total.OutputTokens != 8 {
		t.Errorf("rewritten: %d", r.Total.OutputTokens)
	}
}

func TestCancel(t *testing.T) {
	w := newWorld(t, map[string]string{"a.log": "{}\n"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if l, err := Collect(ctx, []Source{{Agent: "plain", Log: plainLog{w.home, 1}}}, Options{Host: oshost.New(nil), CacheDir: w.cache}); err == nil || l != nil {
		t.Errorf("%v, %v", l, err)
	}
	if _, err := os.Stat(w.cache); err == nil {
		t.Error("the cache was written")
	}
}

// FuzzCache holds the decoder to what it promises for any bytes, and the encoder to the decoder.
func FuzzCache(f *testing.F) {
	s := &scanned{version: 1, size: 5, modTime: 7, boundary: 3, mark: 9, state: []byte("{}"), names: []string{"", "m", "s"}, complete: 1,
		calls: []call{{time: 5, key: history.UsageKey{1}, model: 1, session: 2, output: 10, flags: stated, cost: 0.5}, {time: 3, write1h: 8}}}
	f.Add(appendScanned(nil, s))
	f.Add([]byte{1, 2, 3})
	f.Fuzz(func(t *testing.T, b []byte) {
		d := decoder{b: b}
		s := d.scanned()
		if d.failed {
			return
		}
		again := decoder{b: appendScanned(nil, s)}
		back := again.scanned()
		if again.failed || len(again.b) > 0 || len(back.calls) != len(s.calls) || !slices.Equal(back.names, s.names) || !bytes.Equal(appendScanned(nil, back), appendScanned(nil, s)) {
			t.Fatal("what was read is not what was written")
		}
	})
}
