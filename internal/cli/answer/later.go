package answer

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"os"
	"os/user"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/run"
)

// later goes on with a run that ended because it waits for a person.
type later struct {
	result string // file of its result
	trust  bool
}

func (l *later) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&l.result, "result", "", "go on with the run of this result, saved by --json, instead of one on record (- for standard input)")
	cli.TrustFlag(cmd, &l.trust)
}

// args takes n arguments, the first of which is the run unless a result stands for it. An answer may have more words.
func (l *later) args(n int) cobra.PositionalArgs {
	return cli.Args(func(cmd *cobra.Command, args []string) error {
		want := n
		if l.result != "" {
			want--
		}
		if n > 1 {
			return cobra.MinimumNArgs(want)(cmd, args)
		}
		return cobra.ExactArgs(want)(cmd, args)
	})
}

// goOn starts the run that continues one that waits, and reports whether there was one to continue. It decides about what the run asked permission
// for, or answers its question with text.
func (l *later) goOn(cmd *cobra.Command, app *cli.App, args []string, approve bool, text string) (done bool, err error) {
	var req execution.Request
	var res execution.Result
	var from execution.RunID
	if l.result != "" {
		if req, res, err = ReadResult(app, l.result); err != nil {
			return true, err
		}
	} else {
		r, err := app.Run(args[0])
		if err != nil || r.Live || r.Status != execution.StatusAwaitingApproval && r.Status != execution.StatusNeedsClarification {
			return false, err
		}
		from = r.ID
		app.SetDir(r.Cwd)
		client, err := app.Client()
		if err != nil {
			return true, err
		}
		if req, res, err = client.Waiting(string(r.ID)); err != nil {
			return true, err
		}
	}
	for _, flag := range []string{"always", "command", "edit", "question"} {
		if cmd.Flags().Changed(flag) {
			return true, cli.Usage("--%s belongs to a run that is live; run %s has ended, and goes on with exactly what it asked for", flag, res.RunID).WithHint("%s %s", cmd.CommandPath(), res.RunID)
		}
	}
	answers := cmd.Name() == "answer"
	switch {
	case res.Status == execution.StatusDeferred:
		return true, execution.Errorf(execution.CodeNoPendingInteraction, "run %s waits for nobody: it reached a limit", res.RunID).WithHint("drawbar continuations add --help")
	case answers && res.Status == execution.StatusAwaitingApproval:
		return true, execution.Errorf(execution.CodeNoPendingInteraction, "run %s does not wait for an answer; it asks: %s", res.RunID, cmp.Or(cli.OneLine(res.Asks(), 200), "permission")).
			WithHint("drawbar approve %[1]s, drawbar deny %[1]s", res.RunID)
	case !answers && res.Status == execution.StatusNeedsClarification:
		return true, execution.Errorf(execution.CodeNoPendingInteraction, "run %s does not wait for permission; it asks a question", res.RunID).WithHint("drawbar answer %s TEXT", res.RunID)
	case answers:
		req.Message.Text = execution.Prompt(text)
	default:
		req.Continuation.Decision = &execution.ContinuationDecision{ApprovalID: req.Continuation.ApprovalID(), Approved: approve, Reason: text, By: WhoIs()}
		req.Message.Text = "Go on."
		if !approve {
			req.Message.Text = "Go on without it."
		}
	}
	return true, run.Continue(cmd.Context(), app, req, from, l.trust)
}

// WhoIs is the name of the person who decides, for the record; empty if unknown.
func WhoIs() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return ""
}

// maxResult is the maximum size of a result in a file.
const maxResult = 64 << 20

// ReadResult reads a result, or the last of a stream of events, and returns it with the request that continues it.
func ReadResult(app *cli.App, file string) (req execution.Request, res execution.Result, err error) {
	var b []byte
	if file == "-" {
		b, err = io.ReadAll(io.LimitReader(app.In, maxResult+1))
	} else {
		b, err = os.ReadFile(file)
	}
	if err != nil {
		return req, res, cli.Usage("--result: %v", err)
	}
	if len(b) > maxResult {
		return req, res, cli.Usage("--result %s has more than %d bytes", file, maxResult)
	}
	lines := bytes.Split(bytes.TrimSpace(b), []byte("\n"))
	var event struct {
		Type   string
		Result json.RawMessage
	}
	if json.Unmarshal(lines[len(lines)-1], &event) == nil && event.Type == "finished" {
		b = event.Result
	}
	if err := json.Unmarshal(b, &res); err != nil || res.Status == "" {
		return req, res, cli.Usage("--result %s has no result of a run", file).WithHint("save it with: drawbar run AGENT --format json ... > result.json")
	}
	dir, err := os.Getwd()
	if err != nil {
		return req, res, err
	}
	req, err = drawbar.WaitingResult(res, dir)
	return req, res, err
}
