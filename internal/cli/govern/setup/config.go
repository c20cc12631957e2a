package setup

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/configfile"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/govern/view"
	"github.com/drawbar/drawbar/internal/governed/project"
	"github.com/spf13/cobra"
)

// setting is the answer of config get and config set.
type setting struct {
	Key    string          `json:"key"`
	Value  json.RawMessage `json:"value"`
	Before json.RawMessage `json:"previous,omitempty"`
}

func config(app *cli.App) *cobra.Command {
	var old legacy
	cmd := &cobra.Command{
		Use: "config", Short: "Read and change agentxchain.json", Args: cli.Args(cobra.ArbitraryArgs),
		Example: "  drawbar govern config get budget\n  drawbar govern config set budget.per_turn_max_usd 1.5\n" +
			"  drawbar govern config set budget.cost_rates.my-model-v1.2.input_per_1m 0.27",
		RunE: func(cmd *cobra.Command, args []string) error {
			if done, err := old.run(app, cmd, args); done || err != nil {
				return err
			}
			if len(args) > 0 {
				return cli.Usage("unknown command %q", "config "+args[0]).WithHint("drawbar govern config get, drawbar govern config set")
			}
			return get(app, "")
		},
	}
	old.add(cmd)
	cmd.AddCommand(&cobra.Command{
		Use: "get [KEY]", Short: "Print a value as it is written", Args: cli.Args(cobra.MaximumNArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error { return get(app, view.First(args)) },
	}, &cobra.Command{
		Use: "set KEY VALUE", Short: "Set one value; an invalid one is refused", Args: cli.Args(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error { return set(cmd.Context(), app, args[0], args[1]) },
	})
	return cmd
}

// legacy is the spelling of specification 001: --get KEY, --set KEY VALUE.
type legacy struct {
	get string
	set string
}

func (l *legacy) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&l.get, "get", "", "config get KEY")
	cmd.Flags().StringVar(&l.set, "set", "", "config set KEY VALUE")
	for _, name := range []string{"get", "set"} {
		_ = cmd.Flags().MarkHidden(name) // the flags exist
	}
}

func (l *legacy) run(app *cli.App, cmd *cobra.Command, args []string) (bool, error) {
	switch {
	case cmd.Flags().Changed("set"):
		if key, value, ok := strings.Cut(strings.TrimSpace(l.set), " "); ok && len(args) == 0 {
			l.set, args = key, []string{value} // both in one word
		}
		if len(args) == 0 || cmd.Flags().Changed("get") {
			return true, cli.Usage("--set needs a key and a value").WithHint("drawbar govern config set %s VALUE", l.set)
		}
		return true, set(cmd.Context(), app, l.set, strings.TrimSpace(strings.Join(args, " ")))
	case cmd.Flags().Changed("get"):
		return true, get(app, l.get)
	}
	return false, nil
}

func get(app *cli.App, key string) error {
	root, err := view.Root(app)
	if err != nil {
		return err
	}
	value, err := project.Get(root, key)
	if err != nil {
		return err
	}
	return app.Answer(setting{Key: key, Value: value}, func() { app.Printf("%s\n", plain(value)) })
}

func set(ctx context.Context, app *cli.App, key, value string) error {
	root, err := view.Root(app)
	if err != nil {
		return err
	}
	if key == "" {
		return execution.Errorf(execution.CodeValidation, "config set needs a key").WithHint("drawbar govern config set KEY VALUE")
	}
	e, done, err := view.Engine(app, "config set", false)
	if err != nil {
		return err
	}
	done(nil)
	if err := e.Outside(); err != nil {
		return err
	}
	old, _ := project.Load(root) // an invalid one may be fixed step by step
	keys, err := project.Keys(root, key)
	if err != nil {
		return err
	}
	before, after, err := project.Set(root, key, value)
	if err != nil {
		return err
	}
	if err := trustWritten(ctx, app, root, old, keys); err != nil {
		return err
	}
	return app.Answer(setting{Key: key, Value: after, Before: before}, func() {
		if before == nil {
			app.Printf("%s = %s\n", key, plain(after))
		} else {
			app.Printf("%s = %s (was %s)\n", key, plain(after), plain(before))
		}
	})
}

// trustWritten trusts what the user has just written, but nothing that was there before.
func trustWritten(ctx context.Context, app *cli.App, root string, old *project.Project, keys configfile.Path) error {
	now, err := project.Load(root)
	if err != nil {
		return nil //nolint:nilerr // it is not valid yet, and runs nothing
	}
	store, err := app.TrustStore()
	if err != nil {
		return err
	}
	items, err := project.Written(store, old, now, keys)
	if err != nil || len(items) == 0 {
		return err
	}
	return store.Trust(ctx, root, items, false)
}

// plain formats a value for people: a string without quotes, everything else indented.
func plain(raw json.RawMessage) string {
	var s string
	if protocol.Kind(raw) == "string" && json.Unmarshal(raw, &s) == nil {
		return s
	}
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") == nil {
		return b.String()
	}
	return string(raw)
}
