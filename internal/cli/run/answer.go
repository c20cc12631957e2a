package run

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/exitcode"
	"github.com/drawbar/drawbar/internal/cli/junit"
)

// answer is what becomes of a run's answer: --quiet, --output, --format and --junit.
type answer struct {
	quiet          bool
	output, report string
	format         string

	file, junit cli.OutFile
}

var formats = []string{"text", "json", "jsonl", "markdown"}

func (a *answer) register(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&a.quiet, "quiet", "q", false, "print the last message only, and why a run failed")
	cmd.Flags().StringVarP(&a.output, "output", "o", "", "file for the last message; it is replaced as a whole when the run has one")
	cmd.Flags().StringVar(&a.report, "junit", "", "file for a report of the run, as continuous integration reads it")
	cmd.Flags().StringVar(&a.format, "format", "text", "what is printed: text, json (the result, one object), jsonl (events as they happen, as --json) or markdown (the conversation, at the end)")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp)) // the flag exists
}

// check refuses what the options cannot do together, and makes app print what they say.
func (a *answer) check(cmd *cobra.Command, app *cli.App, o *options) error {
	contradicts := func(one, other string) error {
		return cli.Usage("%s and %s contradict each other", one, other).WithHint("use one of them")
	}
	switch {
	case !slices.Contains(formats, a.format):
		return cli.Usage("--format %q is unknown", a.format).WithHint("--format %s", strings.Join(formats, ", --format "))
	case app.JSON && cmd.Flags().Changed("format") && a.format != "jsonl":
		return contradicts("--json", "--format "+a.format)
	case a.quiet && app.JSON:
		return contradicts("--quiet", "--json")
	case a.quiet && a.format != "text":
		return contradicts("--quiet", "--format "+a.format)
	case o.interactive && (a.quiet || a.format == "json"):
		return contradicts("--interactive", "--quiet or --format json")
	case o.detach && (a.quiet || a.output != "" || a.report != "" || cmd.Flags().Changed("format")):
		return cli.Usage("--quiet, --output, --format and --junit are about output, and a run in the background has none").WithHint("drawbar wait RUN && drawbar logs RUN")
	}
	for _, name := range []string{"output", "junit"} {
		if f := cmd.Flags().Lookup(name); f.Changed && f.Value.String() == "" {
			return cli.Usage("--%s has no file", name).WithHint("--%s FILE", name)
		}
	}
	app.JSON = app.JSON || a.format == "json" || a.format == "jsonl"
	return nil
}

// open refuses files that cannot be written, before the run.
func (a *answer) open() (err error) {
	if a.file, err = cli.OpenOut("--output", a.output); err == nil {
		a.junit, err = cli.OpenOut("--junit", a.report)
	}
	return err
}

// write writes the files. That of the answer is left as it is by a run without one.
func (a *answer) write(res execution.Result) error {
	var report bytes.Buffer
	err := junit.Write(&report, "drawbar run", "drawbar.run", []junit.Case{caseOf(res)})
	if err == nil {
		err = a.junit.Write(report.Bytes())
	}
	if res.Output == nil {
		return err
	}
	return errors.Join(err, a.file.Write([]byte(text(res.Output))))
}

// caseOf is a run in a report.
func caseOf(res execution.Result) junit.Case {
	c := junit.Case{Name: fmt.Sprintf("%s %s", res.Agent, res.RunID), Took: time.Duration(res.DurationMs) * time.Millisecond}
	if exitcode.OfResult(res) == execution.ExitOK {
		if res.Output != nil {
			c.Output = text(res.Output)
		}
		return c
	}
	c.Failure = cli.EndOf(res.Outcome(), res.Error.ErrorCode())
	switch {
	case res.Error != nil:
		c.Detail = res.Error.Message
	case res.DeniedCalls > 0:
		c.Failure, c.Detail = "denied", cli.Number(res.DeniedCalls, "tool call was", "tool calls were")+" denied because nobody could be asked"
	}
	return c
}

// text is an answer as a file or a pipe takes it: with a line break at its end.
func text(out *execution.Output) string {
	said := cmp.Or(out.Text, string(out.Structured))
	if said != "" && said[len(said)-1] != '\n' {
		said += "\n"
	}
	return said
}
