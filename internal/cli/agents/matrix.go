package agents

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/catalog"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
)

func newMatrix(app *cli.App) *cobra.Command {
	var markdown bool
	cmd := &cobra.Command{Use: "matrix [AGENT...]", Short: "Compare the capabilities of agents side by side",
		RunE: func(_ *cobra.Command, names []string) error { return matrix(app, names, markdown) }}
	cmd.Flags().BoolVar(&markdown, "markdown", false, "print a Markdown table with notes on each agent")
	return cmd
}

// matrix prints a table with a column of capabilities per agent.
func matrix(app *cli.App, asked []string, markdown bool) error {
	entries, err := app.Agents(asked...)
	if err != nil {
		return err
	}
	all := map[string]execution.Capabilities{}
	var columns [][]ability
	var names []string
	for _, e := range entries {
		names = append(names, e.Descriptor.Name)
		all[e.Descriptor.Name] = e.Capabilities()
		columns = append(columns, abilities(e.Capabilities()))
	}
	c, err := app.Client()
	if err != nil {
		return err
	}
	return app.Answer(all, func() {
		if markdown {
			printMarkdown(app, names, columns, all)
			if len(asked) == 0 {
				printOverProtocol(app, c.Adapters().List())
			}
			return
		}
		w := app.Table()
		fmt.Fprintln(w, strings.Join(append([]string{"CAPABILITY"}, names...), "\t"))
		for i, a := range columns[0] {
			cells := [][]string{fold(a.name)}
			for _, column := range columns {
				cells = append(cells, fold(column[i].value))
			}
			for more, n := true, 0; more; n++ {
				more = false
				line := make([]string, len(cells))
				for j, cell := range cells {
					if n < len(cell) {
						line[j] = cell[n]
					}
					more = more || n+1 < len(cell)
				}
				fmt.Fprintln(w, strings.Join(line, "\t"))
			}
		}
		w.Flush()
	})
}

// foldAt is the width of a column, unless a word is longer.
const foldAt = 24

// fold breaks a text into lines of foldAt columns.
func fold(text string) []string {
	lines := []string{""}
	for word := range strings.FieldsSeq(text) {
		last := &lines[len(lines)-1]
		switch {
		case *last == "":
			*last = word
		case len(*last)+1+len(word) <= foldAt:
			*last += " " + word
		default:
			lines = append(lines, word)
		}
	}
	return lines
}

func printMarkdown(app *cli.App, names []string, columns [][]ability, all map[string]execution.Capabilities) {
	app.Printf("| | %s |\n|---|%s\n", strings.Join(names, " | "), strings.Repeat("---|", len(names)))
	for i, a := range columns[0] {
		app.Printf("| %s |", a.name)
		for _, column := range columns {
			app.Printf(" %s |", column[i].value)
		}
		app.Printf("\n")
	}
	for _, name := range names {
		app.Printf("\n%s:\n\n", name)
		for _, n := range all[name].Notes {
			app.Printf("* %s\n", n)
		}
	}
}

// printOverProtocol prints the agents without an adapter of their own. All can do what acp can; the differences are notes.
func printOverProtocol(app *cli.App, all []catalog.Info) {
	app.Printf("\n## Over the Agent Client Protocol\n\n" +
		"These agents are rows of a table. Each can do what its program offers, as the column acp states; `drawbar agents show AGENT` lists its peculiarities.\n\n" +
		"| agent | name | program | kind |\n|---|---|---|---|\n")
	for _, i := range all {
		if i.Protocol == "" {
			continue
		}
		kind := i.Kind
		if i.Documented != "" {
			kind += ": " + i.Documented
		}
		app.Printf("| %s | %s | `%s` | %s |\n", i.Agent, i.DisplayName, i.Command, kind)
	}
}
