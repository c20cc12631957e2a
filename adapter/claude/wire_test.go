package claude

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/cliagent/clitest"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

// wireLine is one line of a recorded two-way run.
type wireLine struct {
	Dir string          `json:"dir"`
	Msg json.RawMessage `json:"msg"`
}

// clientLine is what the recorded client said.
type clientLine struct {
	Type     string `json:"type"`
	UUID     string `json:"uuid"`
	ID       string `json:"request_id"`
	Priority string `json:"priority"`
	Message  struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	} `json:"message"`
	Request struct {
		Subtype string `json:"subtype"`
	} `json:"request"`
	Response struct {
		ID       string `json:"request_id"`
		Response struct {
			Behavior string          `json:"behavior"`
			Message  string          `json:"message"`
			Input    json.RawMessage `json:"updatedInput"`
		} `json:"response"`
	} `json:"response"`
}

// lateAnswers are recorded answers to questions that had been withdrawn: they must be refused.
var lateAnswers = map[string]int{"canc": 1, "ocanc": 1}

// TestWire replays two-way runs of the real program: its lines as the stream, and the recorded client's lines as
// commands, whose bytes must be what the client sent.
func TestWire(t *testing.T) {
	for _, file := range clitest.Glob(t, "testdata/wire/*.jsonl", 14) {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := replayWire(t, file)
			clitest.Compare(t, strings.TrimSuffix(file, ".jsonl")+".events", clitest.Render(t, w.events, w.result))
			if w.refused != lateAnswers[name] {
				t.Errorf("%d answers were refused, want %d", w.refused, lateAnswers[name])
			}
			if !w.done {
				t.Error("the run was not ended when nothing ran or waited any more")
			}
			if w.result.UnknownLines != 0 {
				t.Errorf("%d lines are unknown", w.result.UnknownLines)
			}
			check(t, w.events, w.result)
		})
	}
}

type wireRun struct {
	events  []execution.Event
	result  execution.Result
	refused int
	done    bool
}

func replayWire(t *testing.T, file string) wireRun {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	req := request()
	req.Run.Interactive = true
	p := newParser(req).(*parser)
	s := cliagent.NewSink(true) // a line that is not known becomes a log event
	p.Open(s)
	var w wireRun
	first, inputs := true, 0
	ids := []string{} // recorded ids and ours, in pairs
	scan := bufio.NewScanner(f)
	scan.Buffer(nil, 1<<20)
	for scan.Scan() {
		var l wireLine
		if err := json.Unmarshal(scan.Bytes(), &l); err != nil {
			t.Fatal(err)
		}
		if l.Dir == "agent->client" {
			p.Line(process.Stdout, []byte(strings.NewReplacer(ids...).Replace(string(l.Msg))), s)
			continue
		}
		var c clientLine
		if err := json.Unmarshal(l.Msg, &c); err != nil {
			t.Fatal(err)
		}
		switch {
		case c.Type == "user" && first:
			first = false // the request's own message is part of standard input from the start
			continue
		case c.Type == "user":
			inputs++
			when := execution.WhenNow
			if c.Priority == "later" {
				when = execution.WhenNextTurn
			}
			if err := p.Command(execution.Say{ID: execution.InputID("in-" + string(rune('0'+inputs))), Text: c.Message.Content[0].Text, When: when}, s); err != nil {
				t.Fatal(err)
			}
			var sent clientLine
			got := written(t, s, &sent)
			if len(sent.UUID) != 36 {
				t.Errorf("the uuid is %q", sent.UUID)
			}
			ids = append(ids, c.UUID, sent.UUID)
			sameJSON(t, l.Msg, bytes.ReplaceAll(got, []byte(sent.UUID), []byte(c.UUID)))
		case c.Type == "control_request" && c.Request.Subtype == "initialize":
		case c.Type == "control_request" && c.Request.Subtype == "interrupt":
			if err := p.Command(execution.Interrupt{}, s); err != nil {
				t.Fatal(err)
			}
			var sent clientLine
			got := written(t, s, &sent)
			ids = append(ids, `"`+c.ID+`"`, `"`+sent.ID+`"`)
			sameJSON(t, l.Msg, bytes.ReplaceAll(got, []byte(sent.ID), []byte(c.ID)))
		case c.Type == "control_response":
			r := c.Response
			d := execution.Decision{Approve: r.Response.Behavior == "allow", Reason: r.Response.Message, Input: r.Response.Input}
			if q, _ := p.questions.Find(execution.QuestionID(r.ID)); q != nil && q.asks {
				d = execution.Decision{Text: "Blue"}
			} else if q != nil && bytes.Equal(compact(t, q.input), compact(t, r.Response.Input)) {
				d.Input = nil // allowed as it was asked
			}
			if err := p.Command(execution.Answer{ID: execution.QuestionID(r.ID), Decision: d}, s); err != nil {
				if execution.CodeOf(err) != execution.CodeInteractionNotFound {
					t.Error(err)
				}
				w.refused++
				continue
			}
			sameJSON(t, l.Msg, written(t, s, nil))
		default:
			t.Fatalf("the client said %s", l.Msg)
		}
	}
	if err := p.Command(execution.EndInput{}, s); err != nil {
		t.Fatal(err)
	}
	w.done = p.done
	w.result = p.Exit(process.Exit{}, s)
	w.events = append(w.events, s.Take()...)
	for _, e := range w.events {
		if _, ok := e.Body.(execution.Log); ok {
			w.result.UnknownLines++
		}
	}
	return w
}

// TestDamagedConversations replays what Claude said with one line lost or twice, and cut off.
func TestDamagedConversations(t *testing.T) {
	conversations.TestDamaged(t, clitest.Damage{Success: clitest.Has(`"subtype":"success"`), Usage: clitest.Has(`"usage"`), Text: clitest.Has(`"text"`, `"result"`)})
}

// TestDifferentialConversations holds what is made of mutated conversations.
func TestDifferentialConversations(t *testing.T) { conversations.TestDifferential(t) }

var conversations = clitest.Goldens{
	Pattern: "testdata/wire/*.jsonl", Least: 14,
	Stdout: func(t testing.TB, recording []byte) (said []byte) {
		for line := range bytes.Lines(recording) {
			var l wireLine
			if err := json.Unmarshal(line, &l); err != nil {
				t.Fatal(err)
			}
			if l.Dir == "agent->client" {
				said = append(append(said, l.Msg...), '\n')
			}
		}
		return said
	},
	Replay: func(_ *testing.T, r clitest.Recording) ([]execution.Event, execution.Result) {
		r.Request.Run.Interactive = true
		return cliagent.Replay(newParser(r.Request), r.Stdout, nil, r.Exit, false)
	},
}

func written(t *testing.T, s *cliagent.Sink, v any) []byte {
	t.Helper()
	lines := s.TakeWrites()
	if len(lines) != 1 || bytes.Count(lines[0], []byte{'\n'}) != 1 || lines[0][len(lines[0])-1] != '\n' {
		t.Fatalf("wrote %q, want one line", lines)
	}
	if v != nil {
		if err := json.Unmarshal(lines[0], v); err != nil {
			t.Fatal(err)
		}
	}
	return lines[0]
}

func compact(t *testing.T, raw []byte) []byte {
	t.Helper()
	if len(raw) == 0 {
		return nil
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	b, _ := json.Marshal(v)
	return b
}

func sameJSON(t *testing.T, want, got []byte) {
	t.Helper()
	var w, g any
	if err := json.Unmarshal(want, &w); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(got, &g); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(w, g); diff != "" {
		t.Errorf("the line differs from the recorded client's (-want +got):\n%s", diff)
	}
}
