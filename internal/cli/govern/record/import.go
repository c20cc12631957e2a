package record

import (
	"context"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/govern/view"
	"github.com/spf13/cobra"
)

func importRecord(app *cli.App) *cobra.Command {
	var o govern.ImportOptions
	cmd := &cobra.Command{
		Use: "import FILE", Short: "Continue with the record of an export",
		Long: "Write the record of an export (drawbar govern export --files) into this project. The record here must be its beginning, unless --replace is\n" +
			"given. The export is verified first, including its hash chain. It does not contain the commits; fetch those with git. FILE - reads\n" +
			"standard input. Exports of AgentXchain are accepted if they contain every file.",
		Example: "  drawbar govern export --files --output run.json\n  drawbar govern import run.json",
		Args:    cli.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			e, rep, err := checked(cmd.Context(), app, args[0])
			if err != nil {
				return err
			}
			if !rep.OK() {
				return execution.Errorf(execution.CodeValidation, "%s is inconsistent: %s", args[0], rep.Errors[0]).WithHint("drawbar govern verify %s", args[0])
			}
			o.Files = e.Record()
			r, err := view.Use(app, cmd, false, func(ctx context.Context, e govern.Engine) (govern.Imported, error) { return e.Import(ctx, o) })
			if err != nil {
				return err
			}
			return app.Answer(r, func() {
				app.Printf("imported  %s, %s\n", r.Run, cli.Number(r.Turns, "turn", "turns"))
				if r.Kept != "" {
					app.Printf("kept      %s\n", r.Kept)
				}
				app.Printf("  next    drawbar govern verify\n")
			})
		},
	}
	cmd.Flags().BoolVar(&o.Replace, "replace", false, "replace a record that the export does not continue; it is kept")
	return cmd
}
