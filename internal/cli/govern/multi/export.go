package multi

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/govern/record"
	"github.com/drawbar/drawbar/internal/governed/audit"
)

func export(app *cli.App) *cobra.Command {
	var out string
	var files bool
	cmd := &cobra.Command{
		Use: "export", Short: "Write the run over all repositories as one JSON document",
		Long: "Write the run over all repositories as one JSON document, to standard output or to a new file: the coordinator's configuration and\n" +
			"files, and the export of each repository, as drawbar govern export --all writes it. A repository that cannot be read is named with\n" +
			"its error. drawbar govern verify FILE checks the document.",
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			doc, err := use(app, cmd, false, func(ctx context.Context, c govern.Coordinator) (audit.CoordinatorExport, error) {
				return gather(ctx, c, files)
			})
			if err != nil {
				return err
			}
			return record.Deliver(app, out, doc)
		},
	}
	cmd.Flags().BoolVar(&files, "files", false, "include every file of the repositories' records")
	record.OutputFlag(cmd, &out)
	return cmd
}

func gather(ctx context.Context, c govern.Coordinator, files bool) (audit.CoordinatorExport, error) {
	e := audit.CoordinatorExport{SchemaVersion: audit.ExportVersion, ExportKind: audit.CoordinatorExportKind, ExportedAt: protocol.At(time.Now()).String(), WorkspaceRoot: "."}
	st, err := c.Status(ctx)
	if err != nil {
		return e, err
	}
	if e.Files, err = audit.ExportFolder(st.Root, protocol.CoordinatorDir, nil, protocol.CoordinatorConfigFile); err != nil {
		return e, execution.Errorf(execution.CodeConfig, "read %s: %w", protocol.CoordinatorDir, err)
	}
	if err := e.Summarize(st.State, st.Barriers.Len()); err != nil {
		return e, err
	}
	for _, r := range st.Repos {
		of := audit.ExportedRepo{Path: r.Path}
		if of.Export, err = record.OfProject(ctx, r.Root, files); err != nil {
			of.Error = err.Error()
		}
		of.OK = err == nil
		e.Repos.Set(r.ID, of)
	}
	return e, nil
}
