package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/kit/acpagent/acptest"
	"github.com/drawbar/drawbar/internal/base/testenv"
	"github.com/drawbar/drawbar/internal/cli/demo"
)

// actsAsDrawbar makes this binary drawbar by whatever name it is started: a run in the background starts it by its path.
const actsAsDrawbar = "DRAWBAR_TEST_IS_DRAWBAR"

func TestMain(m *testing.M) {
	if strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe") == "acp-agent" {
		playACP()
	}
	if os.Getenv(keysDir) != "" && !strings.HasPrefix(filepath.Base(os.Args[0]), "drawbar.") && filepath.Base(os.Args[0]) != "drawbar" {
		playKeys()
	}
	if os.Getenv(leakEnv) != "" && filepath.Base(os.Args[0]) == "claude" {
		playLeak()
	}
	if os.Getenv(lingerEnv) != "" && filepath.Base(os.Args[0]) == "claude" {
		playLinger()
	}
	if demo.IsAgent(os.Args, os.Getenv) || os.Getenv(actsAsDrawbar) != "" {
		main()
	}
	drawbar.Supervise() // in the role of a supervisor this binary is no test
	testenv.Setup(4)
	testscript.Main(m, map[string]func(){"drawbar": func() { observe(); main() }, "acp-agent": playACP, "governed-agent": playGoverned})
}

// playACP is an agent that speaks the Agent Client Protocol: acp-agent SCENARIO [WORDS...], where what is behind the scenario must
// have arrived as the script wrote it.
func playACP() {
	if len(os.Args) < 2 {
		os.Exit(2)
	}
	a := &acptest.Agent{Scenario: adaptertest.Scenario(os.Args[1]), State: os.Getenv("HOME")}
	switch os.Args[1] {
	case "words":
		a.Initialize = acptest.Fields{"agentInfo": acptest.Fields{"name": "got " + strings.Join(os.Args[2:], "|"), "version": "1"}}
	case "plain":
		a.Initialize = acptest.Fields{"agentCapabilities": acptest.Fields{}}
	case "version-2":
		a.Initialize = acptest.Fields{"protocolVersion": 2}
	}
	os.Exit(a.Serve())
}

// TestScripts runs the command line as a user does. The agent is the demo's stand-in, under the vendor's name; the model
// is "drawbar model serve".
func TestScripts(t *testing.T) {
	const dir = "testdata/script"
	files, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil || len(files) < 6 {
		t.Fatalf("%d scripts: %v", len(files), err)
	}
	ran, answers := make(chan string, len(files)), t.TempDir()
	t.Run("all", func(t *testing.T) {
		testscript.Run(t, testscript.Params{
			Dir: dir,
			Setup: func(env *testscript.Env) error {
				for _, d := range []string{"home", "bin", "repo", "empty"} {
					if err := os.Mkdir(filepath.Join(env.WorkDir, d), 0o700); err != nil {
						return err
					}
				}
				// The stand-in answers to the vendor's name only where a script puts $WORK/bin on the PATH.
				self, err := os.Executable()
				if err != nil {
					return err
				}
				if err := os.Symlink(self, filepath.Join(env.WorkDir, "bin", "claude")); err != nil && runtime.GOOS != "windows" {
					return err
				}
				for _, p := range filepath.SplitList(env.Getenv("PATH")) {
					if _, err := os.Stat(filepath.Join(p, "drawbar")); err == nil {
						env.Setenv("DRAWBAR", filepath.Join(p, "drawbar"))
						break
					}
				}
				repository, err := filepath.Abs(filepath.Join("..", ".."))
				if err != nil {
					return err
				}
				env.Setenv("REPOSITORY", repository)
				env.Setenv(answersVar, answers)
				env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
				// What the scripts build with Go is built in the cache that this test was built in.
				if cache := goCache(); cache != "" {
					env.Setenv("GOCACHE", cache)
				}
				env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, "state"))
				env.Setenv("OLDPATH", env.Getenv("PATH"))
				env.Setenv("PATH", filepath.Join(env.WorkDir, "bin")+string(os.PathListSeparator)+env.Getenv("PATH"))
				env.Setenv("DRAWBAR_DEMO_AGENT", "1")
				env.Setenv("ANTHROPIC_API_KEY", "dummy-key-not-real")
				env.Setenv("GORACE", "atexit_sleep_ms=0")
				env.Setenv("NO_COLOR", "1")
				env.Defer(func() { ran <- env.WorkDir })
				return nil
			},
			Cmds: map[string]func(*testscript.TestScript, bool, []string){"model": serveModel, "far": serveFar, "exits": exits, "big": big, "project": project, "turns": turns,
				"keep": keep, "carried": carried, "hand-in": handIn, "until": until},
		})
	})
	checkAnswers(t, answers, len(ran) == len(files))
	if len(ran) != len(files) {
		t.Errorf("%d of %d scripts ran", len(ran), len(files))
	}
}

func goCache() string {
	if dir := os.Getenv("GOCACHE"); dir != "" {
		return dir
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "go-build")
}
