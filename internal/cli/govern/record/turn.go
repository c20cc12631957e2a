package record

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/govern/view"
	"github.com/drawbar/drawbar/internal/governed/ledger"
	"github.com/drawbar/drawbar/internal/governed/project"
	"github.com/spf13/cobra"
)

// shown is one turn and its files.
type shown struct {
	Active  *protocol.Turn           `json:"active_turn,omitempty"`
	Entry   *protocol.HistoryEntry   `json:"history_entry,omitempty"`
	Folder  string                   `json:"folder,omitempty"` // the bundle, archived or current
	Files   []string                 `json:"files"`
	Faults  []protocol.ManifestError `json:"manifest_errors,omitempty"`
	Content map[string]string        `json:"content,omitempty"`
}

func turn(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "turn", Short: "Inspect a turn", Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var file, kind string
	show := &cobra.Command{
		Use: "show [TURN]", Short: "Show a turn, its inputs and its saved files",
		Long: "Show a turn: its result in the record, and the files of its dispatch bundle, which are archived when the turn is " +
			"accepted. --file\nprints one of them, such as PROMPT.md or evidence/stdout.log. Without TURN: the active turn, or else " +
			"the last accepted one.",
		Args: cli.Args(cobra.MaximumNArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			return showTurn(app, view.First(args), file, kind)
		},
	}
	show.Flags().StringVar(&file, "file", "", "print this file of the turn's bundle")
	show.Flags().StringVar(&kind, "artifact", "", "print this artifact: assignment, prompt, context or manifest")
	show.Flags().Lookup("artifact").Hidden = true
	cli.Exclusive(show, "file", "artifact")
	cmd.AddCommand(show, turnDiff(app))
	return cmd
}

func showTurn(app *cli.App, id, file, kind string) error {
	root, v, err := read(app)
	if err != nil {
		return err
	}
	history, err := v.History("")
	if err != nil {
		return err
	}
	s := shown{Files: []string{}}
	if id, s.Active, s.Entry, err = find(v, history, id); err != nil {
		return err
	}
	s.Folder = protocol.ArchiveDir + "/" + id
	if s.Active != nil {
		s.Folder = protocol.BundleDir(id)
		_, s.Faults = project.VerifyBundle(root, id)
	}
	dir := filepath.Join(root, filepath.FromSlash(s.Folder))
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			rel, _ := filepath.Rel(dir, path)
			s.Files = append(s.Files, filepath.ToSlash(rel))
		}
		return nil
	})
	if err != nil {
		return execution.Errorf(execution.CodeConfig, "read %s: %w", dir, err)
	}
	if kind != "" {
		file = kind
		if i := slices.IndexFunc(s.Files, func(name string) bool { return strings.EqualFold(strings.TrimSuffix(name, filepath.Ext(name)), kind) }); i >= 0 {
			file = s.Files[i]
		}
	}
	if file != "" {
		return printFile(app, dir, s, file)
	}
	return app.Answer(s, func() { printTurn(app, id, s) })
}

// find is a turn of the record, active or not; an empty id means the active turn, or the last accepted one.
func find(v *ledger.View, history []protocol.HistoryEntry, id string) (string, *protocol.Turn, *protocol.HistoryEntry, error) {
	if id == "" {
		if keys := v.State.ActiveTurns.Keys(); len(keys) > 1 {
			return "", nil, nil, execution.Errorf(execution.CodeValidation, "%d turns are active: %s", len(keys), strings.Join(keys, ", ")).
				WithHint("name one: drawbar govern turn show %s", keys[0])
		} else if len(keys) == 1 {
			id = keys[0]
		} else if len(history) > 0 {
			id = history[len(history)-1].TurnID
		}
	}
	var entry *protocol.HistoryEntry
	for i, h := range slices.Backward(history) {
		if h.TurnID == id {
			entry = &history[i]
			break
		}
	}
	active := v.State.ActiveTurns.At(id)
	if active == nil && entry == nil {
		return id, nil, nil, execution.Errorf(execution.CodeSessionNotFound, "unknown turn %q", id).WithHint("drawbar govern history --all")
	}
	return id, active, entry, nil
}

// printFile writes one file of the bundle unchanged.
func printFile(app *cli.App, dir string, s shown, file string) error {
	if !slices.Contains(s.Files, file) {
		return execution.Errorf(execution.CodeValidation, "the turn has no file %q", file).WithHint("one of: %s", strings.Join(s.Files, ", "))
	}
	b, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(file)))
	if err != nil {
		return execution.Errorf(execution.CodeConfig, "read %s: %w", file, err)
	}
	if app.JSON {
		s.Content = map[string]string{file: string(b)}
		return app.Answer(s, nil)
	}
	app.Printf("%s", b)
	return nil
}

func printTurn(app *cli.App, id string, s shown) {
	app.Printf("%s\n", id)
	field := func(name, value string) {
		if value != "" {
			app.Printf("  %-12s %s\n", name, value)
		}
	}
	if t := s.Active; t != nil {
		field("role", t.AssignedRole)
		field("runtime", t.RuntimeID)
		field("status", string(t.Status))
		field("assigned", at(t.AssignedAt))
		field("deadline", at(t.DeadlineAt))
		if r := t.LastRejection; r != nil {
			field("rejected", r.Reason)
			for _, e := range r.ValidationErrors {
				field("", "- "+e)
			}
		}
	}
	if h := s.Entry; h != nil {
		field("role", h.Role)
		field("phase", h.Phase)
		field("runtime", h.RuntimeID)
		field("status", h.Status)
		field("accepted", at(h.AcceptedAt))
		if h.DurationMS > 0 {
			field("took", view.Duration(h.DurationMS))
		}
		field("summary", oneLine(h.Summary))
		field("files", strings.Join(h.FilesChanged, ", "))
		field("verification", h.NormalizedVerification.Status)
		for _, d := range h.Decisions {
			field("decision", d.ID+" "+oneLine(d.Statement))
		}
		for _, o := range h.Objections {
			field("objection", o.ID+" ("+o.Severity+") "+oneLine(o.Statement))
		}
		for _, c := range h.Normalized {
			field("normalized", view.Change(c))
		}
	}
	field("folder", s.Folder)
	for _, f := range s.Files {
		field("", f)
	}
	for _, f := range s.Faults {
		field("fault", f.Type+": "+f.Detail)
	}
}
