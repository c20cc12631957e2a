package codex

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

// seeds adds the recordings; those of conversations without what the client says.
func seeds(f *testing.F, pattern string) {
	f.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds %s (%v)", pattern, err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		if filepath.Ext(file) == ".wire" {
			var lines []string
			for line := range strings.Lines(string(b)) {
				if text, ok := strings.CutPrefix(line, "< "); ok {
					lines = append(lines, text)
				}
			}
			b = []byte(strings.Join(lines, ""))
		}
		f.Add(b)
	}
}

// line feeds one line and checks what holds for every line: it is left alone, makes no more events than its size allows, and
// leaves a trace unless it is one that says nothing.
func fuzzLine(t *testing.T, p cliagent.Parser, s *cliagent.Sink, line []byte, silent func([]byte) bool) []execution.Event {
	t.Helper()
	before := bytes.Clone(line)
	p.Line(process.Stdout, line, s)
	if !bytes.Equal(before, line) {
		t.Fatal("the parser changed its line")
	}
	events := s.Take()
	if most := 64 + len(line); len(events) > most {
		t.Fatalf("%d bytes made %d events", len(line), len(events))
	}
	if len(events) == 0 && !silent(line) {
		t.Fatalf("the line %q left no trace", line)
	}
	return events
}

// FuzzPrinted: no output of another program panics, and what is not known of it is accounted for.
func FuzzPrinted(f *testing.F) {
	seeds(f, "testdata/exec/*.jsonl")
	f.Add([]byte(`{"type":"item.completed","item":{"id":"","type":"command_execution","aggregated_output":"\ud800","exit_code":1e9}}`))
	f.Fuzz(func(t *testing.T, input []byte) {
		p, s := newPrinted(), cliagent.NewSink(true)
		for line := range bytes.Lines(input) {
			// Lines that repeat what others say, and what is shown at its end.
			fuzzLine(t, p, s, bytes.TrimSuffix(line, []byte("\n")), func(line []byte) bool {
				v, ok := printedShape.Read(line)
				return ok && (v.Type.IsStr("error") || v.Type.IsStr("turn.started") || strings.HasPrefix(v.Type.Str(), "item."))
			})
		}
		p.Exit(process.Exit{Code: 1}, s)
		if len(s.TakeWrites()) != 0 {
			t.Fatal("nobody reads what is written")
		}
	})
}

// FuzzAppServer: no input panics, every line is accounted for, every request is answered, and what is said is one line each.
// handled are the notifications that make no event under some circumstances.
var handled = []string{"item/agentMessage/delta", "item/plan/delta", "item/reasoning/textDelta", "item/reasoning/summaryTextDelta",
	"item/commandExecution/outputDelta", "item/started", "item/completed", "thread/tokenUsage/updated", "turn/started", "turn/completed", "error",
	"serverRequest/resolved", "account/rateLimits/updated", "turn/plan/updated", "thread/started", "warning", "guardianWarning", "configWarning",
	"deprecationNotice", "windows/worldWritableWarning", "mcpServer/startupStatus/updated", "model/rerouted"}

// FuzzAppServer: no input panics, every line is accounted for, every request is answered, and what is said is one line each.
func FuzzAppServer(f *testing.F) {
	seeds(f, "testdata/wire/*.wire")
	f.Add([]byte(`{"id":1,"result":{}}` + "\n" + `{"id":2,"result":{"thread":{"id":"T"}}}` + "\n" + formAsked + "\n" + inputAsked))
	var scratch lineForm
	silent := func(line []byte) bool {
		// What makes no event is known by its method, or answers something that was asked.
		if len(bytes.TrimSpace(line)) == 0 {
			return true
		}
		if !lineShape.Into(line, &scratch) {
			return false
		}
		if method := scratch.Method; method.Exists() {
			return slices.Contains(idle, method.Str()) || slices.Contains(quiet, method.Str()) || slices.Contains(handled, method.Str())
		}
		return scratch.Result.Exists() || scratch.Error.Exists()
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		req := newRequest()
		req.Run.Interactive = true
		p, s := newAppParser(req, ""), cliagent.NewSink(true)
		p.Open(s)
		var asked []execution.QuestionID
		for line := range bytes.Lines(input) {
			events := fuzzLine(t, p, s, bytes.TrimSuffix(line, []byte("\n")), silent)
			for _, e := range events {
				switch b := e.Body.(type) {
				case execution.ApprovalRequired:
					asked = append(asked, b.ID)
				case execution.InputRequired:
					asked = append(asked, b.ID)
				}
			}
		}
		_ = p.Command(execution.Say{ID: "1", Text: "x"}, s)
		_ = p.Command(execution.Interrupt{}, s)
		for _, id := range asked {
			_ = p.Command(execution.Answer{ID: id, Decision: execution.Decision{Approve: true, Text: "1"}}, s)
		}
		if len(p.questions) > 0 {
			t.Fatalf("%d questions are open behind their answers", len(p.questions))
		}
		_ = p.Command(execution.EndInput{}, s)
		for _, w := range s.TakeWrites() {
			if bytes.Count(w, []byte("\n")) != 1 || w[len(w)-1] != '\n' {
				t.Fatalf("wrote %q, want one line", w)
			}
		}
		p.Exit(process.Exit{}, s)
	})
}

func FuzzHooks(f *testing.F) { adaptertest.FuzzHooks(f, Adapter{}) }

func FuzzPlugins(f *testing.F) { adaptertest.FuzzPlugins(f, Adapter{}) }

func FuzzModels(f *testing.F) { adaptertest.FuzzModels(f, Adapter{}) }
