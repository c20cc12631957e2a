package harness

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/codetool"
	"github.com/drawbar/drawbar/adapter/kit/mcpclient"
	"github.com/drawbar/drawbar/adapter/kit/modelapi"
	"github.com/drawbar/drawbar/adapter/kit/service"
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
	if w.req.Continuation != nil && hasPast(w.req.Continuation) {
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
	named, err := readSkills(dir, run.Skills)
	if err != nil {
		var typed *execution.Error
		if !errors.As(err, &typed) {
			typed = execution.Errorf(execution.CodeValidation, "%v", err)
		}
		return typed
	}
	getenv := service.Environment(run, w.harness.opts.Environ())
	skills, notes := findSkills(adapter.Host{Home: cmp.Or(getenv("HOME"), getenv("USERPROFILE")), Getenv: getenv}, dir, named)
	for _, note := range notes {
		a.Opening = append(a.Opening, execution.Debug{Level: execution.DebugWarn, Message: note})
	}
	var extra []string
	for _, s := range skills {
		extra = append(extra, s.folder)
	}
	if w.folder, err = codetool.OpenFolder(dir, extra...); err != nil {
		return execution.Errorf(execution.CodeSpawn, "%v", err).WithHint("name an existing directory: --cwd")
	}
	env := append(cliagent.Environ(w.harness.opts.Environ(), run, w.harness.keys()...), signal+"=1")
	writes := run.Sandbox != execution.SandboxReadOnly
	tools := w.folder.Read()
	if writes {
		tools = append(tools, w.folder.Change()...)
		tools = append(tools, codetool.Shell{Dir: dir, Env: env, Run: string(run.RunID), Grace: cliagent.Grace(run, 0), Start: w.harness.opts.Runner}.Tool())
	}
	if len(run.MCPServers) > 0 {
		if w.servers, err = mcpclient.Open(ctx, run.MCPServers, mcpclient.Options{Dir: dir, Env: env, Grace: cliagent.Grace(run, 0), Start: w.harness.opts.Runner}); err != nil {
			return execution.Errorf(execution.CodeToolBridge, "%v", err).WithHint("correct the server in mcpServers or --mcp, or leave it out")
		}
		tools = append(tools, w.servers.Tools()...)
	}
	if len(skills) > 0 {
		tools = append(tools, useSkill(skills))
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

type askInput struct {
	Question string `json:"question" jsonschema:"the question"`
}

// ask is the tool that asks the person a question.
func ask() modelapi.Tool {
	return modelapi.Define("ask", "Ask the person a question that only they can answer, when the work cannot go on without it.", func(in askInput) (modelapi.Job, error) {
		return modelapi.Job{Do: func(ctx context.Context, l *modelapi.Live) modelapi.Answer { return l.Ask(ctx, in.Question) }}, stated("question", in.Question)
	})
}

type agentInput struct {
	Prompt string `json:"prompt" jsonschema:"the whole task, with everything that it needs to know, and what to answer"`
}

// delegate is the tool that lets a sub-agent do a part of the work. A sub-agent has no sub-agents and asks no questions.
func delegate(sub modelapi.Agent) modelapi.Tool {
	return modelapi.Define("agent", "Let a sub-agent do a part of the work that takes many steps, such as a search through many files. "+
		"It has the same tools, knows nothing of this conversation, and returns one answer.", func(in agentInput) (modelapi.Job, error) {
		return modelapi.Job{Use: execution.ToolUse{Kind: execution.ToolAgent}, Do: func(ctx context.Context, l *modelapi.Live) modelapi.Answer { return l.Sub(ctx, sub, in.Prompt) }}, stated("prompt", in.Prompt)
	})
}

type skillInput struct {
	Name string `json:"name" jsonschema:"name of the skill"`
}

// useSkill is the tool that reads a skill.
func useSkill(list []skill) modelapi.Tool {
	return modelapi.Define("skill", "Read the instructions of a skill before a task that it is for.", func(in skillInput) (modelapi.Job, error) {
		for _, s := range list {
			if s.Name == in.Name {
				return modelapi.Job{Use: execution.ToolUse{Kind: execution.ToolSkill}, Do: func(context.Context, *modelapi.Live) modelapi.Answer {
					return modelapi.Answer{Text: "The folder of the skill is " + filepath.ToSlash(s.folder) + "\n\n" + s.text}
				}}, nil
			}
		}
		return modelapi.Job{}, errors.New("there is no skill " + in.Name)
	})
}

func stated(name, text string) error {
	if strings.TrimSpace(text) == "" {
		return errors.New("the " + name + " is empty")
	}
	return nil
}
