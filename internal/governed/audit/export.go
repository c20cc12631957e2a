package audit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/ledger"
)

// ExportKind is the kind of a run's export, by any program.
const ExportKind = "agentxchain_run_export"

// CoordinatorExportKind is the kind of the export of a run over several repositories, by any program.
const CoordinatorExportKind = "agentxchain_coordinator_export"

// ExportVersion is the version of Drawbar's own exports. The others are AgentXchain's.
const ExportVersion = "1.0"

var exportVersions = []string{ExportVersion, "0.2", "0.3"}

// mostExported limits the files of one export.
const mostExported = 256 << 20

// ExportedFile is a file in an export.
type ExportedFile struct {
	Format    string          `json:"format"` // json, jsonl or text
	Bytes     int64           `json:"bytes"`
	SHA256    string          `json:"sha256"`
	Content   *string         `json:"content_base64"`
	Data      json.RawMessage `json:"data,omitempty"`                   // added by AgentXchain: the parsed content
	Truncated bool            `json:"truncated,omitempty"`              // AgentXchain omitted the content
	Skipped   bool            `json:"content_base64_skipped,omitempty"` // the same file in other exports
}

// ExportFiles returns the configuration and the files of the record, byte for byte, without those that matter
// only during a turn.
func ExportFiles(root string) (protocol.Ordered[ExportedFile], error) {
	return ExportFolder(root, protocol.Dir, []string{protocol.LocksDir, protocol.WorktreesDir}, protocol.ConfigFile, protocol.TalkFile, protocol.HumanTasksFile)
}

// ExportFolder returns the named files of root that are there, and those of a folder but for the subfolders left, byte for byte.
func ExportFolder(root, dir string, left []string, names ...string) (protocol.Ordered[ExportedFile], error) {
	var files protocol.Ordered[ExportedFile]
	r, err := os.OpenRoot(root)
	if err != nil {
		return files, err
	}
	defer func() { _ = r.Close() }() // read-only
	err = fs.WalkDir(r.FS(), dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err == nil && d.IsDir() && slices.Contains(left, name):
			return fs.SkipDir
		case err == nil && d.Type().IsRegular():
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		return files, err
	}
	slices.Sort(names)
	total := 0
	for _, name := range names {
		f, err := r.Open(filepath.FromSlash(name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return files, err
		}
		b, err := io.ReadAll(io.LimitReader(f, int64(mostExported-total)+1))
		_ = f.Close() // nothing was written
		if err != nil {
			return files, err
		}
		if total += len(b); total > mostExported {
			return files, fmt.Errorf("the files of the record are larger than %d MiB", mostExported>>20)
		}
		sum, text := sha256.Sum256(b), base64.StdEncoding.EncodeToString(b)
		files.Set(name, ExportedFile{Format: format(name), Bytes: int64(len(b)), SHA256: hex.EncodeToString(sum[:]), Content: &text})
	}
	return files, nil
}

func format(name string) string {
	if ext := strings.TrimPrefix(path.Ext(name), "."); ext == "json" || ext == "jsonl" {
		return ext
	}
	return "text"
}

// Export is a run's export, as parsed for checks and comparisons.
type Export struct {
	SchemaVersion string                         `json:"schema_version"`
	ExportKind    string                         `json:"export_kind"`
	ExportedAt    string                         `json:"exported_at"`
	RunID         string                         `json:"run_id"`
	Project       map[string]any                 `json:"project"`
	Config        json.RawMessage                `json:"config"`
	State         json.RawMessage                `json:"state"`
	Summary       map[string]json.RawMessage     `json:"summary"`
	Files         protocol.Ordered[ExportedFile] `json:"files"`
	History       []json.RawMessage              `json:"history"`
	Ledger        []json.RawMessage              `json:"decision_ledger"`
	RepoDecisions []json.RawMessage              `json:"repo_decisions"`
	Events        []json.RawMessage              `json:"events"`
	Runs          []json.RawMessage              `json:"run_history"`
	Human         []json.RawMessage              `json:"human_escalations"`
	Chain         *ledger.Report                 `json:"chain"`

	config   protocol.Config
	state    protocol.State
	contents map[string][]byte // of the files
}

// Record returns the files of the record in the export, by path.
func (e *Export) Record() map[string][]byte {
	files := map[string][]byte{}
	for name, content := range e.contents {
		if ledger.Copied(name) {
			files[name] = content
		}
	}
	return files
}

// ExportReport is the result of Check.
type ExportReport struct {
	Overall       string         `json:"overall"` // pass or fail
	SchemaVersion string         `json:"schema_version"`
	ExportKind    string         `json:"export_kind"`
	RunID         string         `json:"run_id,omitempty"`
	Files         int            `json:"file_count"`
	Unchecked     []string       `json:"unchecked_files,omitempty"` // files whose content the export omits
	Chain         *ledger.Report `json:"chain,omitempty"`           // of the files, not as the export states it
	Repos         []RepoReport   `json:"repos,omitempty"`           // of an export of several repositories
	Errors        []string       `json:"errors"`
}

// RepoReport is the result for one of several repositories in an export.
type RepoReport struct {
	ID      string         `json:"id"`
	Overall string         `json:"overall"`         // pass, fail, or unchecked: it could not be exported
	Fault   string         `json:"fault,omitempty"` // why it could not
	RunID   string         `json:"run_id,omitempty"`
	Files   int            `json:"file_count"`
	Chain   *ledger.Report `json:"chain,omitempty"`
}

// OK reports whether the export is intact.
func (r *ExportReport) OK() bool { return len(r.Errors) == 0 }

// Check reads an export and verifies its consistency: every file against its size and hash, the configuration,
// the state and the lines against their files, and the record in it against its hash chain. The export is nil
// if it cannot be read at all.
func Check(ctx context.Context, data []byte) (*Export, ExportReport, error) {
	rep := ExportReport{Errors: []string{}, Overall: "fail"}
	say := func(format string, args ...any) { rep.Errors = append(rep.Errors, fmt.Sprintf(format, args...)) }
	var e Export
	if err := json.Unmarshal(data, &e); err != nil {
		say("it is not an export: %v", err)
		return nil, rep, nil
	}
	rep.SchemaVersion, rep.ExportKind, rep.Files = e.SchemaVersion, e.ExportKind, e.Files.Len()
	switch {
	case e.ExportKind == CoordinatorExportKind:
		say("export_kind: it has several repositories; take the export of one, repos.ID.export")
		return nil, rep, nil
	case e.ExportKind != ExportKind:
		say("export_kind: %q is not %s", e.ExportKind, ExportKind)
		return nil, rep, nil
	}
	dated(e.SchemaVersion, e.ExportedAt, say)
	if err := json.Unmarshal(e.Config, &e.config); err != nil {
		say("config: %v", err)
	}
	if err := json.Unmarshal(e.State, &e.state); err != nil {
		say("state: %v", err)
	}
	if id := e.Project["id"]; id != e.config.Project.ID {
		say("project.id: %v is not that of config, %q", id, e.config.Project.ID)
	}
	rep.RunID = e.state.ID()
	e.contents = rep.contents(e.Files, say)
	e.values(say)
	e.sums(say)
	err := e.chained(ctx, &rep, say)
	if rep.OK() {
		rep.Overall = "pass"
	}
	return &e, rep, err
}

// dated checks the version and the time of an export.
func dated(version, at string, say func(string, ...any)) {
	if !slices.Contains(exportVersions, version) {
		say("schema_version: %q is not one of %s", version, strings.Join(exportVersions, ", "))
	}
	if _, err := time.Parse(time.RFC3339, at); err != nil {
		say("exported_at: %q is not a time", at)
	}
}

// contents verifies the size, hash and parsed content of every file, and returns the contents.
func (rep *ExportReport) contents(files protocol.Ordered[ExportedFile], say func(string, ...any)) map[string][]byte {
	contents := map[string][]byte{}
	for name, f := range files.All() {
		if !filepath.IsLocal(filepath.FromSlash(name)) || strings.Contains(name, `\`) {
			say("files: %q is not a path within a project", name)
			continue
		}
		if f.Content == nil {
			if f.Truncated || f.Skipped {
				rep.Unchecked = append(rep.Unchecked, name)
			} else {
				say("%s: its content is missing", name)
			}
			continue
		}
		b, err := base64.StdEncoding.DecodeString(*f.Content)
		if err != nil {
			say("%s: its content is not base64: %v", name, err)
			continue
		}
		contents[name] = b
		if int64(len(b)) != f.Bytes {
			say("%s: it has %d bytes, but the export says %d", name, len(b), f.Bytes)
		}
		if sum := sha256.Sum256(b); hex.EncodeToString(sum[:]) != f.SHA256 {
			say("%s: its content does not have the hash %s", name, f.SHA256)
		}
		if f.Data != nil && !reads(f, b) {
			say("%s: data differs from the content", name)
		}
	}
	return contents
}

// reads reports whether data is the parsed content.
func reads(f ExportedFile, content []byte) bool {
	switch f.Format {
	case "json":
		return same(f.Data, content)
	case "jsonl":
		var list []json.RawMessage
		lines := linesOf(content)
		return json.Unmarshal(f.Data, &list) == nil && slices.EqualFunc(list, lines, func(a json.RawMessage, b []byte) bool { return same(a, b) })
	}
	var text string
	return json.Unmarshal(f.Data, &text) == nil && text == string(content)
}

func linesOf(content []byte) [][]byte {
	var list [][]byte
	for line := range bytes.Lines(content) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			list = append(list, line)
		}
	}
	return list
}

// same reports whether two JSON texts have the same value.
func same(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// values compares the export's values with its files.
func (e *Export) values(say func(string, ...any)) {
	for name, value := range map[string]json.RawMessage{protocol.ConfigFile: e.Config, protocol.StateFile: e.State} {
		if b, ok := e.contents[name]; ok && !same(value, b) {
			say("%s: it differs from the value in the export", name)
		}
	}
	for _, of := range []struct {
		key, file string
		list      []json.RawMessage
	}{{"history", protocol.HistoryFile, e.History}, {"decision_ledger", protocol.LedgerFile, e.Ledger}, {"repo_decisions", protocol.RepoLedgerFile, e.RepoDecisions},
		{"events", protocol.EventsFile, e.Events}, {"run_history", protocol.RunHistoryFile, e.Runs}, {"human_escalations", protocol.EscalationsFile, e.Human}} {
		b, ok := e.contents[of.file]
		if !ok {
			continue
		}
		lines := linesOf(b)
		for n, entry := range of.list {
			i := slices.IndexFunc(lines, func(line []byte) bool { return same(entry, line) })
			if i < 0 {
				say("%s[%d]: there is no such line in %s, or not in this order", of.key, n, of.file)
				break
			}
			lines = lines[i+1:]
		}
	}
	last := e.state.LastCompletedTurnID
	if e.History != nil && last != nil && (e.RunID == "" || e.RunID == e.state.ID()) && !slices.ContainsFunc(e.History, func(raw json.RawMessage) bool {
		var h struct {
			TurnID string `json:"turn_id"`
		}
		return json.Unmarshal(raw, &h) == nil && h.TurnID == *last
	}) {
		say("state: its last turn %s is not in history", *last)
	}
}

// sums compares the summary of an AgentXchain export with what it summarizes.
func (e *Export) sums(say func(string, ...any)) {
	for key, want := range map[string]any{"run_id": e.state.RunID, "status": e.state.Status, "phase": e.state.Phase} {
		if got, ok := e.Summary[key]; ok {
			if b, err := protocol.Marshal(want); err == nil && !same(got, b) {
				say("summary.%s: %s is not that of the state, %s", key, got, b)
			}
		}
	}
	for key, file := range map[string]string{"history_entries": protocol.HistoryFile, "decision_entries": protocol.LedgerFile, "hook_audit_entries": protocol.HookAuditFile} {
		b, ok := e.contents[file]
		if got, has := e.Summary[key]; has && ok && string(got) != fmt.Sprint(len(linesOf(b))) {
			say("summary.%s: %s, but %s has %d lines", key, got, file, len(linesOf(b)))
		}
	}
}

// chained verifies the record in the export against its hash chain. Without the chain, the export's own
// statement counts.
func (e *Export) chained(ctx context.Context, rep *ExportReport, say func(string, ...any)) error {
	if _, ok := e.contents[protocol.ChainFile]; !ok {
		if e.Chain != nil && !e.Chain.OK {
			say("chain: the record was broken when it was exported")
		}
		return nil
	}
	dir, err := os.MkdirTemp("", "drawbar-export-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()                   // the system's temporary folder
	if err := ledger.WriteFiles(dir, e.contents); err != nil { // local paths, by files
		return err
	}
	found, err := ledger.Verify(ctx, dir, nil)
	if err != nil {
		say("chain: %v", err)
		return nil
	}
	rep.Chain = &found
	switch b := found.Broken; {
	case b != nil:
		say("chain: %s line %d: %s (%s)", b.File, b.Line, b.Message, b.Kind)
	case e.Chain != nil && (e.Chain.Head != found.Head || !e.Chain.OK):
		say("chain: its head is %s, but the export says %s", found.Head, e.Chain.Head)
	}
	return nil
}
