package a2a

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
)

// maxFile is how large a file of the agent may be to be part of the result.
const maxFile = 1 << 20

// task is what an agent does in a turn: one task, or an answer without one.
type task struct {
	run     *run
	begun   bool // the turn's start was reported
	id      a2a.TaskID
	state   a2a.TaskState
	foreign bool // events of another task came

	artifacts map[a2a.ArtifactID]string // their text so far
	order     []a2a.ArtifactID
	seen      map[string]bool // messages
	last      string          // the last message
	files     []any

	open string // artifact or message whose text is shown
	text strings.Builder
}

// settled reports whether nothing more comes: the task ended, or waits for somebody.
func (t *task) settled() bool {
	return t.state.Terminal() || t.state == a2a.TaskStateInputRequired || t.state == a2a.TaskStateAuthRequired
}

// take reports what an event says. Events of another task are not this run's.
func (t *task) take(event a2a.Event) {
	info := event.TaskInfo()
	if session := t.run.session; t.id != "" && info.TaskID != "" && info.TaskID != t.id || t.run.begun && info.ContextID != "" && info.ContextID != session {
		if !t.foreign {
			t.run.emit(execution.Debug{Level: execution.DebugWarn, Message: t.run.c.access.Title + " reported another task than the one it was given, which is passed over"})
		}
		t.foreign = true
		return
	}
	if info.TaskID != "" {
		t.id = info.TaskID
	}
	t.run.begin(info.ContextID)
	switch e := event.(type) {
	case *a2a.Message:
		t.message(e)
		t.state = a2a.TaskStateCompleted
	case *a2a.Task:
		for _, a := range e.Artifacts {
			t.artifact(a, false, true)
		}
		t.status(e.Status)
	case *a2a.TaskStatusUpdateEvent:
		t.status(e.Status)
	case *a2a.TaskArtifactUpdateEvent:
		t.artifact(e.Artifact, e.Append, false)
	}
}

// status takes a state, and what the agent says about it: news of its work are shown, a question or a reason belong to the state.
func (t *task) status(s a2a.TaskStatus) {
	t.state = s.State
	if s.Message == nil || t.seen[s.Message.ID] {
		return
	}
	switch s.State {
	case a2a.TaskStateSubmitted, a2a.TaskStateWorking, a2a.TaskStateCompleted:
		t.message(s.Message)
	default:
		t.last = t.words(s.Message.Parts)
	}
}

func (t *task) message(m *a2a.Message) {
	if t.seen == nil {
		t.seen = map[string]bool{}
	}
	t.seen[m.ID] = true
	t.last = t.words(m.Parts)
	t.show("message-"+m.ID, t.last)
	t.close()
}

// artifact takes a piece of an artifact, or the whole of it.
func (t *task) artifact(a *a2a.Artifact, appended, whole bool) {
	if a == nil {
		return
	}
	before, have := t.artifacts[a.ID]
	words := t.words(a.Parts)
	switch {
	case appended:
		words = before + words
	case whole && have && !strings.HasPrefix(words, before), !whole && have:
		t.close()
		before = ""
	}
	if !have {
		t.order = append(t.order, a.ID)
	}
	t.artifacts[a.ID] = words
	t.show("artifact-"+string(a.ID), words[len(before):])
}

// show emits a piece of the text of an artifact or message.
func (t *task) show(of, piece string) {
	if piece == "" {
		return
	}
	if t.open != of {
		t.close()
		t.open = of
		t.run.emit(execution.MessageStart{MessageID: of})
	}
	t.text.WriteString(piece)
	t.run.emit(execution.TextDelta{Delta: piece, Accumulated: t.text.String()})
}

// close ends the text that is shown.
func (t *task) close() {
	if t.open == "" {
		return
	}
	t.run.emit(execution.MessageStop{Text: t.text.String()})
	t.open = ""
	t.text = strings.Builder{}
}

// words returns the text of parts. Data is its JSON; files are kept for the result.
func (t *task) words(parts a2a.ContentParts) string {
	var all strings.Builder
	for _, p := range parts {
		if p == nil {
			continue
		}
		switch c := p.Content.(type) {
		case a2a.Text:
			all.WriteString(strings.ToValidUTF8(string(c), "\uFFFD"))
		case a2a.Data:
			if text, err := json.Marshal(c.Value); err == nil {
				all.Write(text)
			}
		case a2a.Raw:
			t.file(p, c)
		case a2a.URL:
			t.files = append(t.files, map[string]any{"name": p.Filename, "mediaType": p.MediaType, "url": string(c)})
		}
	}
	return all.String()
}

func (t *task) file(p *a2a.Part, data []byte) {
	file := map[string]any{"name": p.Filename, "mediaType": p.MediaType, "bytes": len(data)}
	if len(data) <= maxFile {
		file["base64"] = base64.StdEncoding.EncodeToString(data)
	}
	t.files = append(t.files, file)
}

// answer is the text of the turn: the artifacts, or else the last message.
func (t *task) answer() string {
	var texts []string
	for _, id := range t.order {
		if text := t.artifacts[id]; text != "" {
			texts = append(texts, text)
		}
	}
	if len(texts) == 0 && (t.state == a2a.TaskStateCompleted || t.state == a2a.TaskStateWorking) {
		return t.last
	}
	return strings.Join(texts, "\n\n")
}

// said is what the agent said about its state.
func (t *task) said() string {
	if t.last == "" {
		return t.run.c.access.Title + " asks for input"
	}
	return t.last
}

// judge sets how the turn ended, and returns the failure if it did.
func (t *task) judge(o *cliagent.Outcome) *cliagent.Failure {
	fail := func(code execution.ErrorCode, fallback, hint string) *cliagent.Failure {
		message := t.last
		if message == "" {
			message = t.run.c.access.Title + " " + fallback
		}
		return &cliagent.Failure{Code: code, Message: cut(t.run.c.opened.Clean(message), 2000), Hint: hint}
	}
	switch t.state {
	case a2a.TaskStateCompleted:
		o.Reason = execution.TurnCompleted
	case a2a.TaskStateInputRequired:
	case a2a.TaskStateCanceled:
		o.Reason = execution.TurnInterrupted
	case a2a.TaskStateAuthRequired:
		return fail(execution.CodeAuth, "wants a login", "drawbar auth guide "+t.run.c.access.Name)
	case a2a.TaskStateRejected:
		return fail(execution.CodeInvalidRequest, "rejected the task", "")
	case a2a.TaskStateFailed:
		return fail(execution.CodeProvider, "failed and did not say why", "")
	default:
		return &cliagent.Failure{Code: execution.CodeParse, Message: t.run.c.access.Title + " reported an unknown state " + cut(string(t.state), 50)}
	}
	return nil
}

// withdraw cancels the task at the agent, which would go on alone.
func (t *task) withdraw(ctx context.Context) {
	if t.id == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelWait)
	defer cancel()
	ended, err := t.run.agent.CancelTask(ctx, &a2a.CancelTaskRequest{ID: t.id})
	if err != nil {
		t.run.emit(execution.Debug{Level: execution.DebugWarn, Message: "the task was not cancelled, and may go on: " + t.run.c.lost(err).Message})
		return
	}
	t.state = ended.Status.State
}
