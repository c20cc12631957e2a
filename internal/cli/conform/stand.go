package conform

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/external"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/oshost"
	"github.com/drawbar/drawbar/catalog"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/serve"
	"github.com/drawbar/drawbar/internal/modelserver"
)

// options are what a person asked for.
type options struct {
	only, program, format string
	url                   string // of an agent that is served
	plays, command        []string
	agent                 string
	limit                 time.Duration // for each run of a check
}

// check reads the command line.
func (o *options) check(app *cli.App, cmd *cobra.Command, args []string) error {
	names := args
	if at := cmd.ArgsLenAtDash(); at >= 0 {
		names, o.command = args[:at], args[at:]
	}
	use := "drawbar conform AGENT, drawbar conform acp -- COMMAND, drawbar conform --command PROGRAM, or drawbar conform --url URL"
	if o.url != "" {
		if o.program != "" || len(args) > 0 {
			return cli.Usage("conform takes --url alone").WithHint("%s", use)
		}
		if err := o.connect(app); err != nil {
			return err
		}
	}
	switch {
	case o.program == "" && len(names) != 1:
		return cli.Usage("conform takes one agent, not %d", len(names)).WithHint("%s", use)
	case o.program != "" && len(names) > 0:
		return cli.Usage("conform takes an agent or --command, not both").WithHint("%s", use)
	}
	if o.limit <= 0 {
		return cli.Usage("--limit must be positive, not %s", o.limit).WithHint("%s --limit 5m", cmd.CommandPath())
	}
	for _, s := range o.plays {
		if !slices.Contains(adaptertest.Scenarios(), adaptertest.Scenario(s)) {
			return cli.Usage("--plays: %q is not a scenario", s).WithHint("known scenarios: %s", cli.Words(adaptertest.Scenarios()))
		}
	}
	if app.JSON && o.format == text {
		o.format = jsonFormat
	}
	switch o.format {
	case text, junitFormat:
	case jsonFormat:
		app.JSON = true
	default:
		return cli.Usage("--format %q is not a format", o.format).WithHint("text, json or junit")
	}
	if o.program == "" {
		o.agent = names[0]
	}
	return nil
}

// connect makes the command that reaches the agent at a URL the program.
func (o *options) connect(app *cli.App) error {
	if err := serve.CheckURL(o.url, app.Getenv(external.Token)); err != nil {
		return err
	}
	self, err := os.Executable()
	o.program, o.command = self, []string{"agents", "connect", o.url}
	return err
}

// open prepares the agent that was asked for.
func (o *options) open(ctx context.Context, app *cli.App) (*stand, error) {
	s := &stand{app: app, longest: o.limit, connects: o.url != "", redirect: usual, cannot: map[adaptertest.Scenario]string{}}
	var err error
	if o.program != "" {
		s.about, err = external.Describe(ctx, oshost.New(cliagent.Spawn), absolute(append([]string{o.program}, o.command...)), true)
	} else {
		err = s.find(ctx, o)
	}
	if err == nil {
		err = s.limit(o)
	}
	if err == nil {
		err = s.makeDirs()
	}
	return s, err
}

// absolute returns a command whose words that are files stay the same files in every directory.
func absolute(command []string) []string {
	for i, word := range command {
		if i == 0 && filepath.Base(word) == word {
			continue // found on PATH
		}
		if abs, err := filepath.Abs(word); err == nil {
			if _, err := os.Stat(abs); err == nil {
				command[i] = abs
			}
		}
	}
	return command
}

// find finds an installed agent by name.
func (s *stand) find(ctx context.Context, o *options) error {
	e, err := s.app.Agent(o.agent)
	if err != nil {
		return err
	}
	s.about, s.source = e.Descriptor, e.Source
	if takes := e.Capabilities().Agent.TakesCommand; takes != (len(o.command) > 0) {
		if takes {
			return cli.Usage("conform %s: no program is named", s.about.Name).WithHint("drawbar conform %s -- COMMAND [ARGS...]", s.about.Name)
		}
		return cli.Usage("conform %s: the agent takes no command", s.about.Name).WithHint("drawbar conform %s", s.about.Name)
	} else if takes {
		s.command = absolute(o.command)
		return nil
	}
	if at := e.Descriptor.Documented; at != "" {
		s.app.Notef("%s: %s, its adapter follows %s", e.Descriptor.Name, adapter.NotExercised, at)
	}
	c, err := s.app.Client()
	if err != nil {
		return err
	}
	info, err := c.Detect(ctx, e.Descriptor.Name)
	if err != nil {
		return err
	}
	if info == nil || !info.Installed {
		missing := execution.Errorf(execution.CodeAgentNotInstalled, "%s is not installed: program %s was not found", e.Descriptor.DisplayName, e.Descriptor.Command)
		if m, err := c.Adapters().InstallInstructions(e.Descriptor.Name, ""); err == nil && len(m) > 0 {
			return missing.WithHint("%s", cmp.Or(m[0].Command, m[0].Notes))
		}
		return missing
	}
	return nil
}

// byModel are the scenarios that need no more than the text of a scripted model.
var byModel = []string{string(adaptertest.Simple), string(adaptertest.Talk), string(adaptertest.Long), string(adaptertest.Hang), string(adaptertest.Fail)}

// limit states which scenarios the agent cannot play, and why.
func (s *stand) limit(o *options) error {
	a := s.about.New()
	r, redirects := adapter.As[adapter.ModelRedirector](a)
	ext, isExternal := adapter.As[*external.Adapter](a)
	plays, why := o.plays, "the program is not said to play it: --plays"
	if redirects {
		s.redirect = r.RedirectModel
	}
	switch {
	case len(plays) > 0:
	case redirects:
		s.scripted = true
		s.cannot = map[adaptertest.Scenario]string{
			adaptertest.Crash:     "an installed agent does not crash on request",
			adaptertest.Malformed: "an installed agent does not break its own format on request",
			adaptertest.Stubborn:  "an installed agent does not ignore signals on request",
		}
		to := r.RedirectModel("http://127.0.0.1", s.dir)
		if to.Clarify == nil {
			s.cannot[adaptertest.Clarify] = "its model has no call that asks a question"
		}
		if to.Shell == nil {
			for _, sc := range []adaptertest.Scenario{adaptertest.Approval, adaptertest.Steps} {
				s.cannot[sc] = "its model has no tool that runs a command"
			}
		}
		return nil
	case s.about.Protocol == adapter.ProtocolDrawbar:
		return execution.Errorf(execution.CodeCapability, "%s runs behind another Drawbar, which conform cannot point at a scripted model", s.about.Name).
			WithHint("run the suite there: drawbar agents conform %s", ext.Served())
	case isExternal:
		if plays, why = ext.Conformance(), "its reply to initialize does not list it under conformance"; !slices.Contains(plays, string(adaptertest.Simple)) {
			return execution.Errorf(execution.CodeCapability, "%s lists no scenario \"simple\" under conformance, so the suite cannot run against it", s.about.Name).
				WithHint("answer the message \"conformance: simple\", and list the scenario in the reply to initialize")
		}
	case s.command != nil || s.source == catalog.SourceConfiguration:
		plays, why = byModel, "it takes more than a scripted text: --plays, if the program plays it itself"
	default:
		return execution.Errorf(execution.CodeCapability, "%s cannot use a scripted model, so the suite cannot run against it", s.about.Name)
	}
	for _, sc := range adaptertest.Scenarios() {
		if !slices.Contains(plays, string(sc)) && (sc != adaptertest.Missing || s.command == nil) {
			s.cannot[sc] = why
		}
	}
	return nil
}

// usual passes a scripted model in the variables that many programs read.
func usual(baseURL, home string) adapter.Redirect {
	const key = "dummy-key-not-real"
	return adapter.Redirect{Env: map[string]string{"HOME": home, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1",
		"ANTHROPIC_BASE_URL": baseURL, "ANTHROPIC_API_KEY": key, "OPENAI_BASE_URL": baseURL + "/v1", "OPENAI_API_BASE": baseURL + "/v1", "OPENAI_API_KEY": key}}
}

// stand is the agent's private environment, with a scripted model per request.
type stand struct {
	app      *cli.App
	longest  time.Duration // limit for each run of a check
	about    adapter.Descriptor
	source   catalog.Source
	command  []string // of an agent that takes one
	redirect func(baseURL, home string) adapter.Redirect
	connects bool // the program reaches the agent at a URL
	scripted bool // the agent is known to use the scripted model
	cannot   map[adaptertest.Scenario]string
	dir      string
	lock     *flock.Flock // of dir; nil before it is made
	mu       sync.Mutex
	models   []*modelserver.Running
	failure  error
}

// prefix begins the name of a stand's folder.
const prefix = "drawbar-conform-"

// lockName is the file in it that its process locks.
const lockName = "lock"

func (s *stand) makeDirs() (err error) {
	removeLeft(os.TempDir())
	if s.dir, err = os.MkdirTemp("", prefix+"*"); err != nil {
		return err
	}
	s.lock = flock.New(filepath.Join(s.dir, lockName))
	if _, err := s.lock.TryLock(); err != nil {
		return errors.Join(err, s.remove())
	}
	for _, name := range []string{"home", "work", "empty"} {
		if err := os.Mkdir(filepath.Join(s.dir, name), 0o700); err != nil {
			return errors.Join(err, s.remove())
		}
	}
	return nil
}

// remove deletes the folder.
func (s *stand) remove() error { return errors.Join(s.lock.Close(), os.RemoveAll(s.dir)) }

// young is the age of a lock that may not be held yet, because its process has just made it.
const young = time.Minute

// removeLeft deletes the folders below dir that killed processes left: those whose lock nobody holds.
func removeLeft(dir string) {
	left, _ := filepath.Glob(filepath.Join(dir, prefix+"*", lockName)) // the pattern is valid
	for _, path := range left {
		if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() || time.Since(info.ModTime()) < young {
			continue
		}
		lock := flock.New(path, flock.SetFlag(os.O_RDWR))
		held, err := lock.TryLock()
		if err = errors.Join(err, lock.Close()); held && err == nil {
			_ = os.RemoveAll(filepath.Dir(path)) // the next one tries again
		}
	}
}

func (s *stand) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.failure
	for _, m := range s.models {
		err = errors.Join(err, m.Close())
	}
	if s.lock == nil {
		return err
	}
	return errors.Join(err, s.remove())
}
