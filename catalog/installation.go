package catalog

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/version"
)

// Install installs an agent with one of its declared methods, or in its adapter's own way. The exact command is
// in the result and is announced before it runs. An agent already installed in the requested version is left
// alone. Missing requirements are reported before anything runs. If a command fails, the result still has its
// output. The error's code is VALIDATION_ERROR for invalid options, CAPABILITY_ERROR for something the method
// cannot do, SPAWN_ERROR for a failed command.
func (r *Registry) Install(ctx context.Context, name string, o adapter.InstallOptions) (adapter.InstallResult, error) {
	return r.change(ctx, name, actionInstall, o)
}

// Update updates an agent to the newest tested version or to the requested one. A newer agent is left as it is.
func (r *Registry) Update(ctx context.Context, name string, o adapter.InstallOptions) (adapter.InstallResult, error) {
	return r.change(ctx, name, actionUpdate, o)
}

// Uninstall removes an agent's program; its settings, sessions and login stay.
func (r *Registry) Uninstall(ctx context.Context, name string, o adapter.InstallOptions) (adapter.InstallResult, error) {
	return r.change(ctx, name, actionUninstall, o)
}

// change is one installation, update or removal in progress.
type change struct {
	host   adapter.Host
	rec    *record
	action action
	opts   adapter.InstallOptions
	method adapter.InstallMethod
	result adapter.InstallResult
}

func (r *Registry) change(ctx context.Context, name string, a action, o adapter.InstallOptions) (adapter.InstallResult, error) {
	rec, err := r.lookup(name)
	if err != nil {
		return adapter.InstallResult{}, err
	}
	c := &change{host: r.host, rec: rec, action: a, opts: o}
	c.result = adapter.InstallResult{Agent: rec.descriptor.Name, Action: string(a), DryRun: o.DryRun}
	if err := checkPackageVersion(o.Version); err != nil {
		return c.result, c.errorf(execution.CodeValidation, "%w", err).WithHint("a version like 1.2.3, or latest")
	}
	defer r.Invalidate(rec.descriptor.Name) // even a failed command may have changed the installation
	made, err := rec.made()
	if err != nil {
		return c.result, err
	}
	if i, ok := adapter.As[adapter.Installer](made); ok {
		do := map[action]func(context.Context, adapter.Host, adapter.InstallOptions) (adapter.InstallResult, error){actionInstall: i.Install, actionUpdate: i.Update, actionUninstall: i.Uninstall}[a]
		res, err := do(ctx, r.host, o)
		res.Agent, res.Action = rec.descriptor.Name, string(a)
		return res, err
	}
	if rec.descriptor.Command == "" {
		e := c.errorf(execution.CodeCapability, "%s has no program of its own: nothing to %s", c.result.Agent, a)
		if len(rec.descriptor.Install) > 0 {
			e = e.WithHint("%s", rec.descriptor.Install[0].Notes)
		}
		return c.result, e
	}
	r.Invalidate(rec.descriptor.Name)
	before, err := r.detect(ctx, rec)
	if err != nil {
		return c.result, c.failed(ctx, err)
	}
	if done, err := c.plan(ctx, before); done || err != nil {
		return c.result, err
	}
	if o.DryRun {
		c.result.OK = true
		if v, err := version.Parse(c.wanted()); a != actionUninstall && err == nil && !version.AtLeast(v.String(), rec.descriptor.MinVersion) {
			c.note(fmt.Sprintf("%s is below the minimum: Drawbar needs version %s or newer", v, rec.descriptor.MinVersion))
		}
		return c.result, nil
	}
	if err := c.run(ctx); err != nil {
		return c.result, err
	}
	r.Invalidate(rec.descriptor.Name)
	after, err := r.detect(ctx, rec)
	if err != nil {
		return c.result, c.failed(ctx, err)
	}
	if c.method.Type == "script" && a != actionUninstall && !after.Installed {
		// A shell does not otherwise report a failed download at the start of its pipe.
		return c.result, c.errorf(execution.CodeSpawn, "%s %s: the script succeeded, but no %s is on PATH: %s", a, c.result.Agent, rec.descriptor.Command,
			cmp.Or(lastLine(strings.TrimSpace(c.result.Stderr)), lastLine(strings.TrimSpace(c.result.Stdout)), "it printed nothing")).
			WithHint("check its output: %s; if it did install (%s), add that folder to PATH", c.result.Command, cmp.Or(c.method.Notes, "in its own folder"))
	}
	c.conclude(ctx, after)
	return c.result, nil
}

// wanted returns the version to install: the requested one, else the newest tested one.
func (c *change) wanted() string {
	if c.opts.Version != "" {
		return c.opts.Version
	}
	newest := ""
	for _, v := range c.rec.descriptor.TestedVersions {
		if n, err := version.Compare(v, newest); newest == "" || err == nil && n > 0 {
			newest = v
		}
	}
	return newest
}

// plan chooses the method and the command; done means that there is nothing to do.
func (c *change) plan(ctx context.Context, now InstalledInfo) (done bool, err error) {
	want := c.wanted()
	c.result.InstalledVersion, c.result.Path = now.Version, now.CLIPath
	switch {
	case c.action == actionUninstall && !now.Installed:
		c.result.OK, c.result.Message = true, "it is not installed"
		return true, nil
	case c.action == actionUninstall || c.opts.Force:
	case c.action == actionInstall && now.Installed && (c.opts.Version == "" && now.MeetsMinVersion || now.Version == want):
		c.result.OK, c.result.Message = true, fmt.Sprintf("version %s is already installed, as %s", cmp.Or(now.Version, "(unknown)"), now.CLIPath)
		return true, nil
	case c.action == actionUpdate && !now.Installed:
		return false, c.errorf(execution.CodeAgentNotInstalled, "update %s: it is not installed", c.result.Agent).WithHint("drawbar agents install %s", c.result.Agent)
	case c.action == actionUpdate && now.Version == want:
		c.result.OK, c.result.Message = true, fmt.Sprintf("version %s is the newest tested version", now.Version)
		return true, nil
	case c.action == actionUpdate && c.opts.Version == "":
		if n, err := version.Compare(now.Version, want); err == nil && n > 0 {
			c.result.OK = true
			c.result.Message = fmt.Sprintf("version %s is newer than %s, the newest tested version; it was left as it is", now.Version, want)
			return true, nil
		}
	}
	return false, c.choose(ctx, want)
}

// choose takes the first method of the platform that supports the action and whose requirements are met.
func (c *change) choose(ctx context.Context, want string) error {
	var candidates []adapter.InstallMethod
	for _, kind := range managers {
		for _, m := range c.rec.descriptor.Install {
			if m.Type == kind && (m.Platform == "all" || m.Platform == c.host.Platform) && (c.opts.Method == "" || c.opts.Method == kind) {
				candidates = append(candidates, m)
			}
		}
	}
	if len(candidates) == 0 {
		return c.noMethod()
	}
	var missing, unable []string
	for _, m := range candidates {
		argv, err := command(m, c.action, want)
		if err != nil && c.opts.Version == "" {
			argv, err = command(m, c.action, "") // the tested version is a preference, a requested one is not
		}
		if err != nil {
			unable = append(unable, err.Error())
			continue
		}
		if lack := c.lacks(ctx, m); lack != "" {
			missing = append(missing, lack)
			continue
		}
		c.method, c.result.Method, c.result.Command = m, m.Type, typed(argv)
		if len(missing) > 0 {
			c.result.Message = "installed with " + m.Type + "; other methods were unavailable: " + strings.Join(missing, "; ")
		}
		return nil
	}
	if len(missing) > 0 {
		return c.errorf(execution.CodeSpawn, "%s %s: %s", c.action, c.result.Agent, strings.Join(missing, "; ")).
			WithHint("install the missing tool, choose another --method, or add --force: %s", candidates[0].Command)
	}
	return c.errorf(execution.CodeCapability, "%s %s: %s", c.action, c.result.Agent, strings.Join(unable, "; ")).WithHint("%s", cmp.Or(candidates[0].Notes, candidates[0].Command))
}

func (c *change) noMethod() error {
	var types, ways []string
	for _, m := range c.rec.descriptor.Install {
		if m.Platform == "all" || m.Platform == c.host.Platform {
			types, ways = append(types, m.Type), append(ways, cmp.Or(m.Command, m.Notes))
		}
	}
	if c.opts.Method != "" && len(types) > 0 {
		return c.errorf(execution.CodeValidation, "%s %s: no method %q on %s", c.action, c.result.Agent, c.opts.Method, c.host.Platform).
			WithHint("--method %s", strings.Join(slices.Compact(types), ", --method "))
	}
	return c.errorf(execution.CodeCapability, "%s %s: no command can do this on %s", c.action, c.result.Agent, c.host.Platform).
		WithHint("%s", cmp.Or(strings.Join(ways, "; "), c.rec.descriptor.Docs))
}

// lacks returns what the machine is missing for a method, empty if nothing.
func (c *change) lacks(ctx context.Context, m adapter.InstallMethod) string {
	if _, err := c.host.LookPath(manager(m)); err != nil {
		return fmt.Sprintf("no %s on PATH", manager(m))
	}
	if check := strings.Fields(m.PrerequisiteCheck); len(check) > 0 {
		if out, err := c.host.Spawn(ctx, adapter.SpawnRequest{Command: check[0], Args: check[1:]}); err != nil {
			return fmt.Sprintf("%s does not run: %v", m.PrerequisiteCheck, err)
		} else if out.Code != 0 {
			return fmt.Sprintf("%s exits with code %d", m.PrerequisiteCheck, out.Code)
		}
	}
	if c.opts.Force || c.action == actionUninstall {
		return ""
	}
	for _, q := range m.Requires {
		path, err := c.host.LookPath(q.Command)
		if err != nil {
			return fmt.Sprintf("it needs %s %s, which is not on PATH", q.Command, q.MinVersion)
		}
		out, err := c.host.Spawn(ctx, adapter.SpawnRequest{Command: path, Args: []string{"--version"}})
		if err != nil || q.MinVersion == "" {
			continue
		}
		if v := version.Find(out.Stdout); v != "" && !version.AtLeast(v, q.MinVersion) {
			return fmt.Sprintf("it needs %s %s or newer, and %s is %s", q.Command, q.MinVersion, path, v)
		}
	}
	return ""
}

// run runs the command.
func (c *change) run(ctx context.Context) error {
	argv, err := command(c.method, c.action, c.wanted())
	if err != nil {
		argv, err = command(c.method, c.action, "")
	}
	if err != nil {
		return c.errorf(execution.CodeInternal, "%w", err)
	}
	if c.opts.Announce != nil {
		c.opts.Announce(typed(argv))
	}
	out, err := c.host.Spawn(ctx, adapter.SpawnRequest{Command: argv[0], Args: argv[1:]})
	if err != nil {
		return c.failed(ctx, err)
	}
	c.result.Stdout, c.result.Stderr = ending(out.Stdout), ending(out.Stderr)
	if out.Code != 0 {
		last := lastLine(cmp.Or(strings.TrimSpace(out.Stderr), strings.TrimSpace(out.Stdout)))
		return c.errorf(execution.CodeSpawn, "%s %s: %s exited with code %d: %s", c.action, c.result.Agent, argv[0], out.Code, cmp.Or(last, "it printed nothing")).
			WithHint("check its output: %s", c.result.Command)
	}
	return nil
}

// note appends a sentence to the result's message.
func (c *change) note(text string) {
	if c.result.Message != "" {
		text = c.result.Message + "; " + text
	}
	c.result.Message = text
}

// conclude compares what is installed now with what was wanted and reports differences.
func (c *change) conclude(ctx context.Context, after InstalledInfo) {
	c.result.OK, c.result.InstalledVersion, c.result.Path = true, after.Version, after.CLIPath
	var notes []string
	if c.result.Message != "" {
		notes = append(notes, c.result.Message)
	}
	if c.action == actionUninstall {
		if after.Installed {
			notes = append(notes, fmt.Sprintf("%s is still there; it was installed in another way", after.CLIPath))
		}
		c.result.Message = strings.Join(notes, "; ")
		return
	}
	delivered, newest := c.delivered(ctx)
	switch {
	case !after.Installed:
		notes = append(notes, fmt.Sprintf("it is installed, but no %s is on PATH; add the package manager's program folder to PATH", c.rec.descriptor.Command))
	case delivered != "" && after.Version != "" && delivered != after.Version:
		notes = append(notes, fmt.Sprintf("%s %s was installed, but the first one on PATH is %s, version %s", c.method.Type, delivered, after.CLIPath, after.Version))
	}
	got := cmp.Or(delivered, after.Version)
	if n, err := version.Compare(got, newest); err == nil && n < 0 {
		notes = append(notes, fmt.Sprintf("npm installed %s although %s is published for %q: it prefers a release whose engines match this Node; to install that one: drawbar agents install %s --version %s",
			got, newest, orLatest(c.wanted()), c.result.Agent, newest))
	}
	if strings.Contains(c.result.Stderr, "EBADENGINE") {
		notes = append(notes, "npm warns that the package needs another Node: "+engineWarning(c.result.Stderr))
	}
	if got != "" && !version.AtLeast(got, c.rec.descriptor.MinVersion) {
		notes = append(notes, fmt.Sprintf("Drawbar needs version %s or newer", c.rec.descriptor.MinVersion))
	}
	c.result.InstalledVersion = got
	c.result.Message = strings.Join(notes, "; ")
}

// delivered asks npm which version it installed and which it should have installed. Other package managers
// state neither.
func (c *change) delivered(ctx context.Context) (got, newest string) {
	if c.method.Type != "npm" {
		return "", ""
	}
	var tree struct {
		Dependencies map[string]struct {
			Version string `json:"version"`
		} `json:"dependencies"`
	}
	// npm ls also fails because of other packages' problems: only its output counts.
	if out, err := c.host.Spawn(ctx, adapter.SpawnRequest{Command: "npm", Args: []string{"ls", "-g", "--json", "--depth=0", c.method.Package}}); err == nil && json.Unmarshal([]byte(out.Stdout), &tree) == nil {
		got = tree.Dependencies[c.method.Package].Version
	}
	want := orLatest(c.wanted())
	if v, err := version.Parse(want); err == nil && v.String() == want {
		return got, want
	}
	out, err := c.host.Spawn(ctx, adapter.SpawnRequest{Command: "npm", Args: []string{"view", c.method.Package + "@" + want, "version", "--json"}})
	if err != nil || out.Code != 0 {
		return got, ""
	}
	var one string
	var many []string
	if json.Unmarshal([]byte(out.Stdout), &one) == nil {
		many = []string{one}
	} else if json.Unmarshal([]byte(out.Stdout), &many) != nil {
		return got, ""
	}
	for _, v := range many {
		if n, err := version.Compare(v, newest); newest == "" || err == nil && n > 0 {
			newest = v
		}
	}
	return got, newest
}

func (c *change) errorf(code execution.ErrorCode, format string, args ...any) *execution.Error {
	e := execution.Errorf(code, format, args...)
	e.Agent = c.rec.descriptor.Name
	return e
}

// failed returns the error of a command that did not run to its end.
func (c *change) failed(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return c.errorf(execution.CodeTimeout, "%s %s: stopped at the time limit", c.action, c.result.Agent).
			WithHint("use a longer --timeout, or run it to see what it waits for: %s", c.result.Command)
	}
	if ctx.Err() != nil {
		return c.errorf(execution.CodeAborted, "%s %s: %w", c.action, c.result.Agent, cancelled(ctx))
	}
	return c.errorf(execution.CodeSpawn, "%s %s: %w", c.action, c.result.Agent, err)
}

// checkPackageVersion rejects anything that a package manager would not read as a version.
func checkPackageVersion(v string) error {
	if v == "" {
		return nil
	}
	if len(v) > 256 || v[0] == '-' {
		return fmt.Errorf("%q is not a valid version", clip(v))
	}
	const allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-+^~*<>="
	if i := strings.IndexFunc(v, func(r rune) bool { return !strings.ContainsRune(allowed, r) }); i >= 0 {
		return fmt.Errorf("%q is not a valid version: it contains %q", clip(v), []rune(v[i:])[0])
	}
	return nil
}

// ending returns the last part of an output, enough to see why something failed.
func ending(s string) string {
	const most = 4 << 10
	if len(s) <= most {
		return s
	}
	return "..." + strings.ToValidUTF8(s[len(s)-most:], "")
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	// npm ends with the path of its log; the reason is above it.
	for _, l := range slices.Backward(lines) {
		if l = strings.TrimSpace(l); l != "" && !strings.Contains(l, "complete log of this run") && !strings.HasSuffix(l, "-debug-0.log") {
			return clip(l)
		}
	}
	return ""
}

// engineWarning returns npm's warning about required and found engines.
func engineWarning(stderr string) string {
	var parts []string
	for line := range strings.Lines(stderr) {
		if strings.Contains(line, "EBADENGINE") && (strings.Contains(line, "required") || strings.Contains(line, "current")) {
			_, rest, _ := strings.Cut(line, "EBADENGINE")
			parts = append(parts, strings.TrimSpace(rest))
		}
	}
	return clip(strings.Join(parts, " "))
}
