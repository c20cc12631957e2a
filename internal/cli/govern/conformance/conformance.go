// Package conformance implements "drawbar govern conformance": it runs the protocol's fixtures against Drawbar's own
// implementation or another one that supports stdio-fixture-v1 or http-fixture-v1. "serve" is the implementation's side
// of both.
package conformance

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/exitcode"
	"github.com/drawbar/drawbar/internal/governed/conformance"
)

// tokenVariable holds the token of a server, so that it need not be passed as an argument.
const tokenVariable = "DRAWBAR_CONFORMANCE_TOKEN"

type command struct {
	app     *cli.App
	dir     string // base of relative paths
	suite   string
	tier    int
	surface string
	target  string
	token   string
	timeout time.Duration
	report  bool
}

// New returns the command.
func New(app *cli.App) *cobra.Command {
	c := &command{app: app}
	cmd := &cobra.Command{
		Use: "conformance", Short: "Run the protocol's conformance fixtures against an implementation",
		Long: `Test an implementation of the governed-run protocol with fixtures: each has a situation, an operation and an expected result.

Without --suite, Drawbar's own fixtures are used; DIR is searched for those of the public suite. Without --target, the implementation
in this program is tested. COMMAND is started once for every fixture, gets it as one line on standard input and answers on standard
output and with its exit code (stdio-fixture-v1); a folder with ` + conformance.CapabilitiesFile + ` names its command itself; a URL is called
over HTTP (http-fixture-v1); "self" is this program as a COMMAND. An answer that says pass is still checked against the fixture.

With --json, standard output is a list of {"fixture_id", "surface", "tier", "status", "message"}; with --report, the summary by tier
and surface that the protocol's own verifier prints. The exit code is 0 when nothing failed, 1 when something did, 2 when a fixture
did not reach a verdict, or none ran.`,
		Example: `  drawbar govern conformance
  drawbar govern conformance --suite ./fixtures --tier 2 --json
  drawbar govern conformance --suite ./fixtures --target "node adapter.js"
  drawbar govern conformance --target https://example.com/protocol --surface gate_semantics`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	f := cmd.Flags()
	f.StringVar(&c.suite, "suite", "", "folder with fixtures (default: Drawbar's own)")
	f.IntVar(&c.tier, "tier", conformance.Tiers, "highest tier: 1, 2 or 3")
	f.StringVar(&c.surface, "surface", "", "only fixtures of this surface")
	f.StringVar(&c.target, "target", "", "COMMAND, folder, URL or \"self\" (default: this program)")
	f.StringVar(&c.token, "token", "", "bearer token for a URL (default: $"+tokenVariable+")")
	f.DurationVar(&c.timeout, "timeout", conformance.DefaultTimeout, "time limit for one fixture")
	f.BoolVar(&c.report, "report", false, "print the summary by tier and surface, as JSON")
	cmd.AddCommand(newServe(app))
	return cmd
}

func (c *command) run(cmd *cobra.Command) error {
	if c.tier < 1 || c.tier > conformance.Tiers {
		return cli.Usage("--tier %d: tiers are 1 to %d", c.tier, conformance.Tiers).WithHint("--tier 2 runs tiers 1 and 2")
	}
	if c.timeout <= 0 {
		return cli.Usage("--timeout %s is out of range", c.timeout).WithHint("--timeout 30s")
	}
	if c.report && c.app.JSON {
		return cli.Usage("--report and --json contradict each other").WithHint("give one of them")
	}
	dir, err := c.app.ProjectDir()
	if err != nil {
		return err
	}
	c.dir = dir
	fixtures, err := c.fixtures()
	if err != nil {
		return err
	}
	target, closeTarget, err := c.open()
	if err != nil {
		return err
	}
	defer closeTarget()
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	claims, outcomes, err := conformance.Run(ctx, target, fixtures, conformance.Options{Tier: c.tier, Surface: c.surface, Timeout: c.timeout})
	if err != nil {
		return c.undriven(ctx, err)
	}
	if err := c.print(claims, outcomes); err != nil {
		return err
	}
	if code := conformance.Overall(outcomes).ExitCode(); code != 0 {
		return &exitcode.Error{Code: code, Silent: true}
	}
	return nil
}

// undriven returns the error of a run without outcomes.
func (c *command) undriven(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return execution.Errorf(execution.CodeInterrupted, "%w", err).WithHint("drawbar govern conformance%s", c.again())
	case errors.Is(err, conformance.ErrToken):
		return cli.Usage("--target: %v", err).WithHint("--token TOKEN, or %s in the environment", tokenVariable)
	case errors.Is(err, conformance.ErrSelection):
		return cli.Usage("%v", err).WithHint("drawbar govern conformance --help")
	}
	return cli.Usage("--target %s does not provide what it claims: %v", c.target, err).WithHint("curl %s%s", c.target, conformance.CapabilitiesPath)
}

// path is a path given by a flag.
func (c *command) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(c.dir, name)
}

// fixtures are those of --suite, or our own.
func (c *command) fixtures() ([]conformance.Fixture, error) {
	if c.suite == "" {
		return conformance.Suite()
	}
	dir := c.path(c.suite)
	info, err := os.Stat(dir)
	if err != nil {
		return nil, cli.Unreadable("--suite", err)
	}
	if !info.IsDir() {
		return nil, cli.Usage("--suite %s is not a folder", c.suite).WithHint("give the folder that contains the fixture")
	}
	list, err := conformance.Load(os.DirFS(dir))
	if err != nil {
		return nil, cli.Usage("--suite %s: %v", c.suite, err).WithHint("every .json file below --suite is one fixture")
	}
	if len(list) == 0 {
		return nil, cli.Usage("--suite %s contains no fixtures", c.suite).WithHint("every .json file below --suite is one fixture")
	}
	return list, nil
}
