package harness

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/codetool"
	"github.com/drawbar/drawbar/adapter/kit/mcpclient"
	"github.com/drawbar/drawbar/adapter/kit/modelapi"
	"github.com/drawbar/drawbar/adapter/kit/toolcall"
	"github.com/drawbar/drawbar/execution"
)

// worker is what one run has opened.
type worker struct {
	harness *Adapter
	req     execution.Request
	folder  *codetool.Folder
	servers *mcpclient.Client
}

// table are the tools whose calls have events of their own. A sub-agent has no sub-agents.
func table(sub bool) *toolcall.Table {
	tools := codetool.Kinds()
	tools[toolcall.Skill] = []string{"skill"}
	if !sub {
		tools[toolcall.Agent] = []string{"agent"}
	}
	return &toolcall.Table{Tools: tools, Input: toolcall.Input{Command: "command", Prompt: "prompt", Skill: "name"}, DefaultAgent: "agent"}
}

// open completes the agent of a request.
func (w *worker) open(ctx context.Context, a *modelapi.Agent) *execution.Error {
	run := w.req.Run
	if w.req.Continuation != nil {
		past, err := modelapi.ReadPast(w.req.Continuation)
		if err != nil {
			return execution.Errorf(execution.CodeValidation, "%v", err)
		}
		a.Past = past
	}
	dir := run.Cwd
	if dir == "" {
		here, err := os.Getwd()
		if err != nil {
			return execution.Errorf(execution.CodeSpawn, "find the working directory: %v", err)
		}
		dir = here
	}
	skills, err := readSkills(dir, run.Skills)
	if err != nil {
		var typed *execution.Error
		if !errors.As(err, &typed) {
			typed = execution.Errorf(execution.CodeValidation, "%v", err)
		}
		return typed
	}
	var extra []string
	for _, s := range skills {
		extra = append(extra, s.folder)
	}
	if w.folder, err = codetool.OpenFolder(dir, extra...); err != nil {
		return execution.Errorf(execution.CodeSpawn, "%v", err).WithHint("name an existing directory: --cwd")
	}
	env := cliagent.Environ(w.harness.opts.Environ(), run, w.harness.keys()...)
	writes := run.Sandbox != execution.SandboxReadOnly
	tools := w.folder.Read()
	if writes {
		tools = append(tools, w.folder.Change()...)
		tools = append(tools, codetool.Shell{Dir: dir, Env: env, Grace: grace(run), Start: w.harness.opts.Runner}.Tool())
	}
	if len(run.MCPServers) > 0 {
		if w.servers, err = mcpclient.Open(ctx, run.MCPServers, mcpclient.Options{Dir: dir, Env: env, Grace: grace(run), Start: w.harness.opts.Runner}); err != nil {
			return execution.Errorf(execution.CodeToolBridge, "%v", err).WithHint("correct the server in mcpServers or --mcp, or leave it out")
		}
		tools = append(tools, w.servers.Tools()...)
	}
	if len(skills) > 0 {
		tools = append(tools, w.skill(skills))
	}
	docs, read := documents(dir)
	for _, path := range read {
		a.Opening = append(a.Opening, execution.AgentdocRead{Path: path})
	}
	for _, s := range skills {
		a.Opening = append(a.Opening, execution.SkillLoaded{SkillName: s.Name, Source: s.folder})
	}
	a.Documents = strings.Join(append([]string{surroundings(dir, writes)}, append(docs, describe(skills)...)...), "\n\n")
	a.System = instructions
	sub := modelapi.Agent{Name: name, Window: a.Window, System: subInstructions, Documents: a.Documents, Tools: tools, InOrder: true, Limits: w.harness.opts.Limits.sub(run), Table: table(true)}
	a.Tools = append(append(a.Tools, tools...), ask(), delegate(sub))
	return nil
}

// close releases what open opened.
func (w *worker) close() {
	if w.servers != nil {
		w.servers.Close()
	}
	if w.folder != nil {
		_ = w.folder.Close() // opened read-only
	}
}

// grace is the time from TERM to KILL as the transport states it.
func grace(run execution.RunOptions) time.Duration {
	if run.GracePeriodMs == nil {
		return 0
	}
	if *run.GracePeriodMs == 0 {
		return -1
	}
	return time.Duration(*run.GracePeriodMs) * time.Millisecond
}

// parse reads a tool's input of texts, which must not be blank.
func parse(input json.RawMessage, name string) (string, error) {
	var in map[string]string
	if err := json.Unmarshal(input, &in); err != nil || len(in) > 1 || strings.TrimSpace(in[name]) == "" {
		return "", errors.New(`the input must be {"` + name + `": TEXT}`)
	}
	return in[name], nil
}

func schema(name, description string) json.RawMessage {
	b, _ := json.Marshal(map[string]any{"type": "object", "properties": map[string]any{name: map[string]string{"type": "string", "description": description}},
		"required": []string{name}, "additionalProperties": false}) // plain values always encode
	return b
}

// ask is the tool that asks the person a question.
func ask() modelapi.Tool {
	return modelapi.Tool{Tool: execution.Tool{Name: "ask", Description: "Ask the person a question that only they can answer, when the work cannot go on without it.",
		InputSchema: schema("question", "the question")}, Check: func(input json.RawMessage) (modelapi.Job, error) {
		question, err := parse(input, "question")
		return modelapi.Job{Do: func(ctx context.Context, l *modelapi.Live) modelapi.Answer { return l.Ask(ctx, question) }}, err
	}}
}

// delegate is the tool that lets a sub-agent do a part of the work. A sub-agent has no sub-agents and asks no questions.
func delegate(sub modelapi.Agent) modelapi.Tool {
	return modelapi.Tool{Tool: execution.Tool{Name: "agent", Description: "Let a sub-agent do a part of the work that takes many steps, such as a search through " +
		"many files. It has the same tools, knows nothing of this conversation, and returns one answer.",
		InputSchema: schema("prompt", "the whole task, with everything that it needs to know, and what to answer")}, Check: func(input json.RawMessage) (modelapi.Job, error) {
		prompt, err := parse(input, "prompt")
		return modelapi.Job{Do: func(ctx context.Context, l *modelapi.Live) modelapi.Answer { return l.Sub(ctx, sub, prompt) }}, err
	}}
}

// skill is the tool that reads a skill.
func (w *worker) skill(list []skill) modelapi.Tool {
	return modelapi.Tool{Tool: execution.Tool{Name: "skill", Description: "Read the instructions of a skill before a task that it is for.",
		InputSchema: schema("name", "name of the skill")}, Check: func(input json.RawMessage) (modelapi.Job, error) {
		name, err := parse(input, "name")
		if err != nil {
			return modelapi.Job{}, err
		}
		for _, s := range list {
			if s.Name == name {
				return modelapi.Job{Do: func(context.Context, *modelapi.Live) modelapi.Answer {
					return modelapi.Answer{Text: "The folder of the skill is " + filepath.ToSlash(s.folder) + "\n\n" + s.text}
				}}, nil
			}
		}
		return modelapi.Job{}, errors.New("there is no skill " + name)
	}}
}
