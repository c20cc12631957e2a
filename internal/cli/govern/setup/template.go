package setup

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/govern/view"
	"github.com/drawbar/drawbar/internal/governed/governance/charter"
	"github.com/drawbar/drawbar/internal/governed/project"
	"github.com/spf13/cobra"
)

func template(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "template", Short: "List project templates, check a project against one, or switch", Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(templateList(app), templateValidate(app), templateSet(app))
	return cmd
}

// listed is one template of list.
type listed struct {
	ID          string   `json:"id"`
	Description string   `json:"description"`
	Planning    []string `json:"planning_artifacts"`
	Guided      []string `json:"prompt_overrides"`
}

func templateList(app *cli.App) *cobra.Command {
	var kits bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the templates for init or, with --phase-templates, for phase artifacts", Args: cli.Args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			if kits {
				return listKits(app)
			}
			var list []listed
			for _, t := range project.Templates() {
				list = append(list, listed{t.ID, t.Description, append([]string{}, t.Planning()...), append([]string{}, t.Guided()...)})
			}
			return app.Answer(list, func() {
				for _, t := range list {
					app.Printf("%-16s %s\n", t.ID, t.Description)
					if len(t.Planning) > 0 {
						app.Printf("%-16s files: %s\n", "", strings.Join(t.Planning, ", "))
					}
				}
			})
		},
	}
	cmd.Flags().BoolVar(&kits, "phase-templates", false, "list the templates of workflow_kit.phases instead")
	return cmd
}

func listKits(app *cli.App) error {
	type kit struct {
		ID        string              `json:"id"`
		Artifacts []protocol.Artifact `json:"artifacts"`
	}
	var list []kit
	for _, id := range charter.KitTemplates() {
		list = append(list, kit{id, charter.KitArtifacts(id)})
	}
	return app.Answer(list, func() {
		for _, k := range list {
			app.Printf("%s\n", k.ID)
			for _, a := range k.Artifacts {
				app.Printf("  %-36s %s\n", a.Path, cmp.Or(a.Semantics, "required"))
			}
		}
	})
}

// templateCheck is the answer of template validate.
type templateCheck struct {
	Template string   `json:"template"`
	Present  []string `json:"present"`
	Errors   []string `json:"errors"`
	Warnings []string `json:"warnings"`
}

func templateValidate(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "validate", Short: "Check that the files of the project's template and of its gates exist", Args: cli.Args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			p, err := view.Project(app)
			if err != nil {
				return err
			}
			c := checkTemplate(p)
			show := func() {
				for _, e := range c.Errors {
					app.Printf("error: %s\n", e)
				}
				for _, w := range c.Warnings {
					app.Printf("warning: %s\n", w)
				}
				app.Printf("template %s: %d files found, %d problems\n", c.Template, len(c.Present), len(c.Errors))
			}
			if len(c.Errors) == 0 {
				return app.Answer(c, show)
			}
			return view.Failed(app, execution.ExitGeneral, c, execution.Errorf(execution.CodeValidation, "%s", c.Errors[0]), show)
		},
	}
}

func checkTemplate(p *project.Project) templateCheck {
	all := project.Templates()
	c := templateCheck{Template: cmp.Or(p.Config.Template, all[0].ID), Present: []string{}, Errors: []string{}, Warnings: []string{}}
	var names []string
	if i := slices.IndexFunc(all, func(t project.Template) bool { return t.ID == c.Template }); i >= 0 {
		names = all[i].Planning()
	} else {
		c.Warnings = append(c.Warnings, fmt.Sprintf("the template %s is not one of Drawbar's, so only the files of gates were checked", c.Template))
	}
	if p.Config.Gates != nil {
		for _, g := range p.Config.Gates.All() {
			names = append(names, g.RequiresFiles...)
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if _, err := os.Stat(filepath.Join(p.Root, filepath.FromSlash(name))); err != nil {
			c.Errors = append(c.Errors, name+" is missing")
		} else {
			c.Present = append(c.Present, name)
		}
	}
	return c
}

func templateSet(app *cli.App) *cobra.Command {
	var dry, yes bool
	cmd := &cobra.Command{
		Use: "set TEMPLATE", Short: "Switch the project's template: planning files and prompt guidance", Args: cli.Args(cobra.ExactArgs(1)),
		Long: "Write the missing planning files of another template, add its guidance to prompts and to SYSTEM_SPEC.md, and set the " +
			"template in\nagentxchain.json and in the record. No file is replaced, and no text is removed. Templates with their own " +
			"team (generic,\nfull-local-cli) are for new projects.",
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return templateNames(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := view.Project(app)
			if err != nil {
				return err
			}
			planned, err := project.PlanTemplate(p, args[0])
			if err != nil {
				return err
			}
			plan := planned.TemplateChange
			if !dry && plan.From != plan.To {
				show := func() { printTemplate(app, plan, true) }
				if err := app.Confirm(cmd.Context(), yes, "continue?", cmd.CommandPath()+" "+args[0], show); err != nil {
					return err
				}
				e, done, err := view.Engine(app, "template set", false)
				if err != nil {
					return err
				}
				defer done(nil)
				if plan, err = e.SetTemplate(cmd.Context(), args[0]); err != nil {
					return err
				}
			}
			return app.Answer(plan, func() { printTemplate(app, plan, dry) })
		},
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "show what would change and change nothing")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "ask no questions")
	return cmd
}

func printTemplate(app *cli.App, c govern.TemplateChange, dry bool) {
	if c.From == c.To {
		app.Printf("the template is already %s\n", c.To)
		return
	}
	word := "is"
	if dry {
		word = "would be"
	}
	app.Printf("template %s %s %s\n", c.From, word, c.To)
	for _, line := range []struct {
		name string
		list []string
	}{{"created", c.Created}, {"kept", c.Kept}, {"guidance", c.Added}, {"skipped", c.Skipped}} {
		if len(line.list) > 0 {
			app.Printf("  %-9s %s\n", line.name, strings.Join(line.list, ", "))
		}
	}
	if !dry {
		app.Printf("  next      git add -A && git commit\n")
	}
}
