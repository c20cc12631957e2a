package record

import (
	"cmp"
	"context"
	"encoding/json"
	"io"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/repofile"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/govern/view"
	"github.com/drawbar/drawbar/internal/governed/audit"
	"github.com/drawbar/drawbar/internal/governed/coordinator"
)

// exportLimit bounds the size of an export.
const exportLimit = 512 << 20

// checked reads an export from a file, or from standard input for "-", and checks it.
func checked(ctx context.Context, app *cli.App, file string) (*audit.Export, audit.ExportReport, error) {
	b, err := bytesOf(app, file)
	if err != nil {
		return nil, audit.ExportReport{}, err
	}
	return audit.Check(ctx, b)
}

func bytesOf(app *cli.App, file string) (b []byte, err error) {
	if file == "-" {
		b, err = io.ReadAll(io.LimitReader(app.In, exportLimit))
	} else {
		b, err = repofile.Input(file, exportLimit)
	}
	if err != nil {
		return nil, execution.Errorf(execution.CodeValidation, "read the export %s: %w", file, err).WithHint("drawbar govern export --files --output FILE")
	}
	return b, nil
}

// textOrJSON is AgentXchain's flag --format: json equals our --json.
func textOrJSON(app *cli.App, format string) error {
	if format != "text" && format != "json" {
		return cli.Usage("--format %q is not supported", format).WithHint("text or json")
	}
	app.JSON = app.JSON || format == "json"
	return nil
}

// failing answers with the findings, and exits with 1 unless all is well.
func failing(app *cli.App, ok bool, why string, data any, show func()) error {
	if ok {
		return app.Answer(data, show)
	}
	return view.Failed(app, execution.ExitGeneral, data, execution.Errorf(execution.CodeValidation, "%s", why), show)
}

func verifyExport(app *cli.App) *cobra.Command {
	var in, format string
	cmd := &cobra.Command{
		Use: "export [FILE]", Short: "Check that an export is consistent: files, hashes, state, chain",
		Long: "Check an export of Drawbar or AgentXchain, of one repository or of several, for consistency: every file against its size and hash, the configuration, " +
			"the state and\nthe lines against their files, and the record in it against its hash chain. Drawbar's own exports " +
			"contain files with --files;\nwithout them, the chain is only what the export says about it. FILE - reads standard " +
			"input. The exit code is 1 on any mismatch.",
		Args: cli.Args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := textOrJSON(app, format); err != nil {
				return err
			}
			if len(args) > 0 && cmd.Flags().Changed("input") {
				return cli.Usage("name the export once: %s, or --input %s", args[0], in).WithHint("%s FILE", cmd.CommandPath())
			}
			if len(args) > 0 {
				in = args[0]
			}
			return answerExport(cmd.Context(), app, in)
		},
	}
	cmd.Flags().StringVar(&in, "input", "-", "export to check, or - for standard input")
	cmd.Flags().StringVar(&format, "format", "text", "text or json")
	_, _ = cmd.Flags().MarkHidden("input"), cmd.Flags().MarkHidden("format") // the flags exist
	return cmd
}

func answerExport(ctx context.Context, app *cli.App, in string) error {
	b, err := bytesOf(app, in)
	if err != nil {
		return err
	}
	var rep audit.ExportReport
	var of struct {
		Kind string `json:"export_kind"`
	}
	if json.Unmarshal(b, &of) == nil && of.Kind == audit.CoordinatorExportKind {
		rep, err = audit.CheckCoordinator(ctx, b, coordinator.CheckHistory)
	} else {
		_, rep, err = audit.Check(ctx, b)
	}
	if err != nil {
		return err
	}
	why := ""
	if !rep.OK() {
		why = rep.Errors[0]
	}
	return failing(app, rep.OK(), why, rep, func() { printExport(app, rep) })
}

func printExport(app *cli.App, rep audit.ExportReport) {
	app.Printf("%s: %s %s, run %s, %d files\n", rep.Overall, rep.ExportKind, rep.SchemaVersion, cmp.Or(rep.RunID, "none"), rep.Files)
	switch {
	case rep.Chain != nil && rep.Chain.OK:
		app.Printf("  its record matches its chain: %d lines\n", rep.Chain.Entries)
	case rep.Files == 0:
		app.Printf("  no files: the values are consistent, but an edited value may go unnoticed; to check every byte: drawbar govern export --files --output FILE\n")
	}
	for _, r := range rep.Repos {
		switch {
		case r.Overall == "unchecked":
			app.Printf("  %s: not checked, because it was not exported: %s\n", r.ID, r.Fault)
		case r.Chain != nil && r.Chain.OK:
			app.Printf("  %s: %s, run %s, its record matches its chain: %d lines\n", r.ID, r.Overall, r.RunID, r.Chain.Entries)
		default:
			app.Printf("  %s: %s, run %s, %d files\n", r.ID, r.Overall, cmp.Or(r.RunID, "none"), r.Files)
		}
	}
	for _, name := range rep.Unchecked {
		app.Printf("  %s: not checked, because the export omits its content\n", name)
	}
	for _, e := range rep.Errors {
		app.Printf("  - %s\n", e)
	}
}

// exportDiff is the answer of verify diff.
type exportDiff struct {
	Overall string             `json:"overall"`
	Left    audit.ExportReport `json:"left"`
	Right   audit.ExportReport `json:"right"`
	Diff    *audit.Comparison  `json:"diff"` // none if one of them is inconsistent
}

func verifyDiff(app *cli.App) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use: "diff LEFT RIGHT", Short: "Compare two exports; exit with 1 if something got worse", Args: cli.Args(cobra.ExactArgs(2)),
		Long: "Compare two consistent exports. Everything that got worse from LEFT to RIGHT is listed and makes the exit code 1: a " +
			"run that is\nblocked, a gate that no longer passes, an exhausted budget, an earlier phase, an overridden decision, a " +
			"record that no longer\nmatches its chain.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := textOrJSON(app, format); err != nil {
				return err
			}
			a, left, err := checked(cmd.Context(), app, args[0])
			if err != nil {
				return err
			}
			b, right, err := checked(cmd.Context(), app, args[1])
			if err != nil {
				return err
			}
			out := exportDiff{Overall: "fail", Left: left, Right: right}
			why := "one of the exports is inconsistent"
			if left.OK() && right.OK() {
				d := audit.Compare(a, b)
				if out.Diff = &d; len(d.Regressions) > 0 {
					why = d.Regressions[0].Message
				} else {
					out.Overall = "pass"
				}
			}
			return failing(app, out.Overall == "pass", why, out, func() { printExportDiff(app, args, out) })
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "text or json")
	_ = cmd.Flags().MarkHidden("format") // the flag exists
	return cmd
}

func printExportDiff(app *cli.App, names []string, d exportDiff) {
	for i, rep := range []audit.ExportReport{d.Left, d.Right} {
		app.Printf("%s  %s\n", rep.Overall, names[i])
		for _, e := range rep.Errors {
			app.Printf("  - %s\n", e)
		}
	}
	if d.Diff == nil {
		app.Printf("not compared: one of the exports is inconsistent\n")
		return
	}
	for _, c := range d.Diff.Changes {
		app.Printf("  %s: %v, then %v\n", c.Field, c.Left, c.Right)
	}
	for _, r := range d.Diff.Regressions {
		app.Printf("  %s: %s (%s)\n", r.Severity, r.Message, r.Category)
	}
	switch {
	case len(d.Diff.Changes) == 0:
		app.Printf("no differences\n")
	case len(d.Diff.Regressions) == 0:
		app.Printf("nothing got worse\n")
	}
}
