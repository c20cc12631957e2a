package adaptertest

import "github.com/drawbar/drawbar/execution"

// work checks tool calls and the events within and after them.
func (o *order) work(e execution.Event) {
	switch b := e.Body.(type) {
	case execution.ToolCallStart:
		t := o.tool(b.ToolCallID)
		if t.started || t.ready || t.ended {
			o.addf(e, "call %s has started before", b.ToolCallID)
		}
		t.started = true
	case execution.ToolInputDelta:
		if t := o.tool(b.ToolCallID); !t.started || t.ready || t.ended {
			o.addf(e, "call %s is not collecting input", b.ToolCallID)
		}
	case execution.ToolCallReady:
		o.ready(e, b.ToolCallID)
	case execution.MCPToolCallStart:
		o.ready(e, b.ToolCallID)
	case execution.ToolResultEvent:
		o.finish(e, b.ToolCallID, true)
	case execution.ToolError:
		o.finish(e, b.ToolCallID, false)
	case execution.MCPToolResult:
		o.finish(e, b.ToolCallID, true)
	case execution.MCPToolError:
		o.finish(e, b.ToolCallID, false)
	case execution.ShellStart:
		o.shell(e, b.ToolCallID, true)
	case execution.ShellStdoutDelta:
		o.shell(e, b.ToolCallID, false)
	case execution.ShellStderrDelta:
		o.shell(e, b.ToolCallID, false)
	case execution.ShellExit:
		o.shell(e, b.ToolCallID, false)
	case execution.FileRead:
		o.file(e, b.ToolCallID)
	case execution.FileWrite:
		o.file(e, b.ToolCallID)
	case execution.FileCreate:
		o.file(e, b.ToolCallID)
	case execution.FileDelete:
		o.file(e, b.ToolCallID)
	case execution.FilePatch:
		o.file(e, b.ToolCallID)
	}
}

func (o *order) tool(id string) *toolState {
	t := o.tools[id]
	if t == nil {
		t = &toolState{}
		o.tools[id] = t
	}
	return t
}

func (o *order) ready(e execution.Event, id string) {
	t := o.tool(id)
	if t.ready || t.ended {
		o.addf(e, "call %s was ready before", id)
	}
	t.ready = true
}

func (o *order) finish(e execution.Event, id string, ok bool) {
	t := o.tool(id)
	switch {
	case t.ended:
		o.addf(e, "call %s has ended before", id)
	case !t.started && !t.ready:
		o.addf(e, "call %s has not started", id)
	case ok && t.question != "" && o.asked[t.question]:
		o.addf(e, "call %s did not wait for the answer to %s", id, t.question)
	}
	t.ended = true
}

func (o *order) shell(e execution.Event, id string, starts bool) {
	if id == "" {
		return
	}
	t := o.tool(id)
	switch {
	case !t.started && !t.ready || t.ended:
		o.addf(e, "is outside its tool call %s", id)
	case !starts && !t.shell:
		o.addf(e, "comes before shell_start of %s", id)
	}
	t.shell = t.shell || starts
}

func (o *order) file(e execution.Event, id string) {
	if id != "" && !o.tool(id).ended {
		o.addf(e, "comes before the result of its tool call %s", id)
	}
}

// exchange checks questions and messages.
func (o *order) exchange(e execution.Event) {
	switch b := e.Body.(type) {
	case execution.ApprovalRequired:
		o.ask(e, b.ID)
		if b.ToolCallID != "" {
			o.tool(b.ToolCallID).question = b.ID
		}
	case execution.InputRequired:
		o.ask(e, b.ID)
	case execution.ApprovalGranted:
		o.answer(e, b.ID, true)
	case execution.ApprovalDenied:
		o.answer(e, b.ID, false) // an agent may deny by its own rules, without a question
	case execution.QuestionWithdrawn:
		o.answer(e, b.ID, true)
	case execution.InputQueued:
		if _, known := o.inputs[b.ID]; known {
			o.addf(e, "message %s was queued or taken before", b.ID)
		}
		o.inputs[b.ID] = true
	case execution.InputTaken:
		o.taken(e, b.ID)
	case execution.InputCancelled:
		o.taken(e, b.ID)
	}
}

func (o *order) ask(e execution.Event, id execution.QuestionID) {
	if o.asked[id] {
		o.addf(e, "question %s is already open", id)
	}
	o.asked[id] = true
}

func (o *order) answer(e execution.Event, id execution.QuestionID, needsQuestion bool) {
	open, known := o.asked[id]
	switch {
	case !known && needsQuestion:
		o.addf(e, "question %s was not asked", id)
	case known && !open:
		o.addf(e, "question %s was answered before", id)
	}
	o.asked[id] = false
}

func (o *order) taken(e execution.Event, id execution.InputID) {
	waits, known := o.inputs[id]
	switch {
	case !known:
		o.addf(e, "message %s was not queued", id)
	case !waits:
		o.addf(e, "message %s was taken or cancelled before", id)
	}
	o.inputs[id] = false
}
