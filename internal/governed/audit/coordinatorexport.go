package audit

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/drawbar/drawbar/govern/protocol"
)

// CoordinatorExport is a run over several repositories with its record, and an export of each repository.
type CoordinatorExport struct {
	SchemaVersion string                         `json:"schema_version"`
	ExportKind    string                         `json:"export_kind"`
	ExportedAt    string                         `json:"exported_at"`
	WorkspaceRoot string                         `json:"workspace_root"`
	Coordinator   CoordinatorHead                `json:"coordinator"`
	Summary       map[string]json.RawMessage     `json:"summary"`
	Config        json.RawMessage                `json:"config"`
	Files         protocol.Ordered[ExportedFile] `json:"files"`
	Repos         protocol.Ordered[ExportedRepo] `json:"repos"`
}

// CoordinatorHead says what the repositories work on.
type CoordinatorHead struct {
	ProjectID     string `json:"project_id"`
	ProjectName   string `json:"project_name"`
	SchemaVersion string `json:"schema_version"`
	Repos         int    `json:"repo_count"`
	Workstreams   int    `json:"workstream_count"`
}

// ExportedRepo is a repository in an export: its own export, or why there is none.
type ExportedRepo struct {
	OK     bool            `json:"ok"`
	Path   string          `json:"path"`
	Export json.RawMessage `json:"export,omitempty"`
	Error  string          `json:"error,omitempty"`
}

// Summarize fills in the configuration, the head and the summary from the files and the state, nil without a run.
func (e *CoordinatorExport) Summarize(s *protocol.CoordinatorState, barriers int) error {
	var discard ExportReport
	contents := discard.contents(e.Files, func(string, ...any) {})
	e.Config = contents[protocol.CoordinatorConfigFile]
	var c protocol.CoordinatorConfig
	if err := json.Unmarshal(e.Config, &c); err != nil {
		return err
	}
	e.Coordinator = CoordinatorHead{ProjectID: c.Project.ID, ProjectName: c.Project.Name, SchemaVersion: c.SchemaVersion, Repos: c.Repos.Len(), Workstreams: c.Workstreams.Len()}
	if s == nil {
		s = &protocol.CoordinatorState{}
	}
	var statuses protocol.Ordered[string]
	for id, r := range s.RepoRuns.All() {
		statuses.Set(id, r.Status)
	}
	e.Summary = map[string]json.RawMessage{}
	for key, value := range map[string]any{"super_run_id": s.SuperRunID, "status": s.Status, "phase": s.Phase, "repo_run_statuses": statuses, "barrier_count": barriers,
		"history_entries":  len(linesOf(contents[protocol.CoordinatorHistoryFile])),
		"decision_entries": len(linesOf(contents[protocol.CoordinatorLedgerFile]))} {
		b, err := protocol.Marshal(value)
		if err != nil {
			return err
		}
		e.Summary[key] = b
	}
	return nil
}

// CheckCoordinator verifies an export of several repositories as Check does one: the files, the configuration and the summary, the history by
// the given function, which gets history and state, and the export of every repository.
func CheckCoordinator(ctx context.Context, data []byte, chained func(history, state []byte) error) (ExportReport, error) {
	rep := ExportReport{Errors: []string{}, Overall: "fail"}
	say := func(format string, args ...any) { rep.Errors = append(rep.Errors, fmt.Sprintf(format, args...)) }
	var e CoordinatorExport
	if err := json.Unmarshal(data, &e); err != nil {
		say("it is not an export: %v", err)
		return rep, nil
	}
	rep.SchemaVersion, rep.ExportKind, rep.Files = e.SchemaVersion, e.ExportKind, e.Files.Len()
	dated(e.SchemaVersion, e.ExportedAt, say)
	contents := rep.contents(e.Files, say)
	if b, ok := contents[protocol.CoordinatorConfigFile]; ok && !same(e.Config, b) {
		say("%s: it differs from the value in the export", protocol.CoordinatorConfigFile)
	}
	var config protocol.CoordinatorConfig
	if err := json.Unmarshal(e.Config, &config); err != nil {
		say("config: %v", err)
	} else if config.Project.ID != e.Coordinator.ProjectID {
		say("coordinator.project_id: %q is not that of config, %q", e.Coordinator.ProjectID, config.Project.ID)
	}
	var state protocol.CoordinatorState
	b, begun := contents[protocol.CoordinatorStateFile]
	var run string
	if err := json.Unmarshal(e.Summary["super_run_id"], &run); !begun && err == nil && run != "" {
		say("%s: it is missing, but the summary names a run", protocol.CoordinatorStateFile)
	}
	if err := json.Unmarshal(b, &state); begun && err != nil {
		say("%s: %v", protocol.CoordinatorStateFile, err)
	}
	if err := chained(contents[protocol.CoordinatorHistoryFile], b); err != nil {
		say("%v", err)
	}
	rep.RunID = state.SuperRunID
	entries := func(file string) any {
		if b, ok := contents[file]; ok {
			return len(linesOf(b))
		}
		return nil
	}
	for key, want := range map[string]any{"super_run_id": state.SuperRunID, "status": state.Status, "phase": state.Phase,
		"history_entries": entries(protocol.CoordinatorHistoryFile), "decision_entries": entries(protocol.CoordinatorLedgerFile)} {
		if got, ok := e.Summary[key]; ok && want != nil && want != "" {
			if b, err := protocol.Marshal(want); err == nil && !same(got, b) {
				say("summary.%s: %s is not that of the files, %s", key, got, b)
			}
		}
	}
	for id := range config.Repos.All() {
		if _, ok := e.Repos.Get(id); !ok {
			say("repos.%s: it is missing", id)
		}
	}
	for id, r := range e.Repos.All() {
		of := RepoReport{ID: id, Overall: "unchecked", Fault: r.Error}
		if r.OK {
			_, found, err := Check(ctx, r.Export)
			if err != nil {
				return rep, err
			}
			of.Overall, of.RunID, of.Files, of.Chain = found.Overall, found.RunID, found.Files, found.Chain
			for _, fault := range found.Errors {
				say("repos.%s: %s", id, fault)
			}
		}
		rep.Repos = append(rep.Repos, of)
	}
	if rep.OK() {
		rep.Overall = "pass"
	}
	return rep, nil
}
