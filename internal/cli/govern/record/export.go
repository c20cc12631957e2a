package record

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/atomicfile"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/governed/audit"
	"github.com/drawbar/drawbar/internal/governed/ledger"
	"github.com/drawbar/drawbar/internal/governed/project"
	"github.com/spf13/cobra"
)

// exported is a run with its record, as one document.
type exported struct {
	SchemaVersion string                  `json:"schema_version"`
	ExportKind    string                  `json:"export_kind"`
	ExportedAt    protocol.Time           `json:"exported_at"`
	Project       protocol.Project        `json:"project"`
	RunID         string                  `json:"run_id"`
	Config        json.RawMessage         `json:"config"`
	State         protocol.State          `json:"state"`
	History       []protocol.HistoryEntry `json:"history"`
	Ledger        []ledger.LedgerLine     `json:"decision_ledger"`
	RepoDecisions []protocol.RepoDecision `json:"repo_decisions"`
	Events        []protocol.Event        `json:"events"`
	Runs          []protocol.RunSummary   `json:"run_history"`
	Human         []json.RawMessage       `json:"human_escalations"`
	Chain         ledger.Report           `json:"chain"`
	// Files are the configuration and the files of the record, of all runs, if requested.
	Files protocol.Ordered[audit.ExportedFile] `json:"files,omitzero"`
}

func export(app *cli.App) *cobra.Command {
	var f runFlags
	var out string
	var files bool
	cmd := &cobra.Command{
		Use: "export", Short: "Write a run's record as one JSON document",
		Long: "Write the record of a run as one JSON document, to standard output or to a new file:\nconfiguration, state, turns, " +
			"decisions, events, and whether the chain is intact.",
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			root, v, run, err := f.open(app, cmd)
			if err != nil {
				return err
			}
			doc, err := gather(cmd.Context(), root, v, run, files)
			if err != nil {
				return err
			}
			return Deliver(app, out, doc)
		},
	}
	cmd.Flags().StringVar(&f.run, "run", "", "run (default: the current one)")
	cmd.Flags().BoolVar(&f.all, "all", false, "export all runs")
	cmd.Flags().BoolVar(&files, "files", false, "include every file of the record, of all runs, for verify export")
	OutputFlag(cmd, &out)
	return cmd
}

// OutputFlag adds the flag for the file of an export.
func OutputFlag(cmd *cobra.Command, out *string) {
	cmd.Flags().StringVarP(out, "output", "o", "", "file to write, which must not exist (default: standard output)")
}

// Deliver writes an export to a new file, or to standard output without one.
func Deliver(app *cli.App, out string, doc any) error {
	b, err := protocol.MarshalFile(doc)
	if err != nil {
		return err
	}
	if out == "" || out == "-" {
		_, err = app.Out.Write(b)
		return err
	}
	return write(app, out, b)
}

// OfProject is the export of the project at root, with all its runs, and its files if requested.
func OfProject(ctx context.Context, root string, files bool) (json.RawMessage, error) {
	v, err := ledger.Read(root)
	if err != nil {
		return nil, err
	}
	doc, err := gather(ctx, root, v, "", files)
	if err != nil {
		return nil, err
	}
	return protocol.Marshal(doc)
}

func gather(ctx context.Context, root string, v *ledger.View, run string, files bool) (exported, error) {
	p, err := project.Load(root)
	if err != nil {
		return exported{}, err
	}
	doc := exported{SchemaVersion: audit.ExportVersion, ExportKind: audit.ExportKind, ExportedAt: protocol.At(time.Now()), Project: p.Config.Project, RunID: run,
		Config: json.RawMessage(p.Raw), State: v.State}
	if doc.History, err = v.History(run); err != nil {
		return doc, err
	}
	if doc.Ledger, err = v.Ledger(run); err != nil {
		return doc, err
	}
	if doc.RepoDecisions, err = v.RepoDecisions(); err != nil {
		return doc, err
	}
	if doc.Events, err = v.EventsOf(run); err != nil {
		return doc, err
	}
	runs, err := v.Runs()
	if err != nil {
		return doc, err
	}
	for _, r := range runs {
		if run == "" || r.RunID == run {
			doc.Runs = append(doc.Runs, r)
		}
	}
	if doc.Human, err = v.Human(); err != nil {
		return doc, err
	}
	if doc.Chain, err = ledger.Verify(ctx, root, nil); err != nil || !files {
		return doc, err
	}
	if doc.Files, err = audit.ExportFiles(root); err != nil {
		err = execution.Errorf(execution.CodeConfig, "read the record: %w", err).WithHint("export it without --files")
	}
	return doc, err
}

// write creates the file, which must not exist: neither an export nor a report replaces a file.
func write(app *cli.App, path string, b []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return execution.Errorf(execution.CodeConfig, "write %s: %w", path, err).WithHint("choose a file in a writable folder")
	}
	f, err := atomicfile.Create(path, 0o644)
	if err == nil {
		if _, err = f.File.Write(b); err != nil {
			f.Discard()
		} else {
			err = f.CommitNew(true)
		}
	}
	if errors.Is(err, fs.ErrExist) {
		return execution.Errorf(execution.CodeConfig, "write: %s: file exists", path).WithHint("choose a file that does not exist yet")
	}
	if err != nil {
		return execution.Errorf(execution.CodeConfig, "write %s: %w", path, err).WithHint("choose a file in a writable folder")
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	return app.Answer(map[string]any{"file": abs, "bytes": len(b)}, func() { app.Printf("%s (%d bytes)\n", abs, len(b)) })
}
