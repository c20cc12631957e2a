package runstore

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/atomicfile"
	"github.com/drawbar/drawbar/internal/base/secret"
)

const (
	metaName      = "meta.json"
	resultName    = "result.json"
	metaVersion   = 1
	previewLength = 200
)

// Meta describes a run before it starts. RunID and Agent are required.
type Meta struct {
	RunID        execution.RunID
	Agent        string
	Model        string
	Cwd          string // absolute
	Prompt       string // the first 200 characters are stored, with secrets redacted
	Tags         []string
	ProjectID    string
	Caller       execution.Correlation
	StartedAt    time.Time       // default: now
	Parent       execution.RunID // the run that started this one, such as the earlier attempt or the race it belongs to
	Detached     bool
	ApprovalMode execution.ApprovalMode
	ReservedUSD  float64 // of the budgets of runs, while it is live
	// Secrets are values to redact from everything that is written, such as keys in the agent's environment. Short common words are
	// not redacted. The values are not stored.
	Secrets []string
}

// metaFile is meta.json.
type metaFile struct {
	V         int             `json:"v"`
	RunID     execution.RunID `json:"runId"`
	Agent     string          `json:"agent"`
	Model     string          `json:"model,omitempty"`
	SessionID string          `json:"sessionId,omitempty"`
	Cwd       string          `json:"cwd,omitempty"`
	Prompt    string          `json:"prompt,omitempty"`
	Tags      []string        `json:"tags,omitempty"`
	ProjectID string          `json:"projectId,omitempty"`
	execution.Correlation
	Parent       execution.RunID        `json:"parentRunId,omitempty"`
	Detached     bool                   `json:"detached,omitempty"`
	ApprovalMode execution.ApprovalMode `json:"approvalMode,omitempty"`
	ReservedUSD  float64                `json:"reservedUsd,omitempty"`
	StartedAt    int64                  `json:"startedAt"` // ms
	Process      process                `json:"process"`
}

func (m Meta) file(s *secret.Redactor) metaFile {
	tags := make([]string, len(m.Tags))
	for i, t := range m.Tags {
		tags[i] = s.Text(t)
	}
	cwd := m.Cwd
	if cwd != "" {
		cwd = filepath.Clean(cwd)
	}
	return metaFile{V: metaVersion, RunID: m.RunID, Agent: s.Text(m.Agent), Model: s.Text(m.Model), Cwd: s.Text(cwd),
		Prompt: preview(m.Prompt, s), Tags: tags, ProjectID: s.Text(m.ProjectID), Correlation: m.caller(s), Parent: m.Parent, Detached: m.Detached,
		ApprovalMode: m.ApprovalMode, ReservedUSD: m.ReservedUSD, StartedAt: m.StartedAt.UnixMilli(), Process: self()}
}

func (m Meta) caller(s *secret.Redactor) execution.Correlation {
	return execution.Correlation{AssistantID: s.Text(m.Caller.AssistantID), TurnID: s.Text(m.Caller.TurnID), CorrelationID: s.Text(m.Caller.CorrelationID)}
}

func (m Meta) check() error {
	if _, err := execution.ParseRunID(string(m.RunID)); err != nil {
		return fmt.Errorf("begin run: %w: %v", ErrBadID, err)
	}
	if m.Agent == "" {
		return fmt.Errorf("begin run %s: the agent's name is missing", m.RunID)
	}
	return nil
}

// preview returns the beginning of a prompt. Secrets are redacted before cutting, so that no part of one remains; only as much text
// as the longest secret could reach into is examined.
func preview(prompt string, s *secret.Redactor) string {
	reach := previewLength*4 + 4096
	reach += s.Longest()
	prompt = s.Text(prompt[:min(len(prompt), reach)])
	n := 0
	for i := range prompt {
		if n == previewLength {
			return strings.ToValidUTF8(prompt[:i], "\uFFFD")
		}
		n++
	}
	return strings.ToValidUTF8(prompt, "\uFFFD")
}

func readMeta(dir string) (metaFile, error) {
	b, err := atomicfile.Read(filepath.Join(dir, metaName))
	if err != nil {
		return metaFile{}, err
	}
	var m metaFile
	if err := json.Unmarshal(b, &m); err != nil {
		return metaFile{}, fmt.Errorf("read %s: %w", filepath.Join(dir, metaName), err)
	}
	if m.V > metaVersion {
		return metaFile{}, fmt.Errorf("read %s: %w: version %d, this program reads %d; update drawbar", filepath.Join(dir, metaName), ErrNewerSchema, m.V, metaVersion)
	}
	if string(m.RunID) != filepath.Base(dir) {
		return metaFile{}, fmt.Errorf("read %s: it is about run %.40q", filepath.Join(dir, metaName), m.RunID)
	}
	return m, nil
}
