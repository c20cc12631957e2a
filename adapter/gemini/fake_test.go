package gemini

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/kit/acpagent/acptest"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
)

type fields = map[string]any

// fake is Gemini CLI 0.61.0 with --output-format stream-json, as its transcripts show it and as far as the scenarios need it.
type fake struct {
	scenario adaptertest.Scenario
	state    string
	args     []string
	session  string
	resumed  bool
	calls    int
	items    int
}

// playFake is the main function of the fake. Like the real one it starts itself a second time unless it is told not to, and then
// swallows signals.
func playFake(scenario string, args []string) (int, error) {
	if os.Getenv("GEMINI_CLI_NO_RELAUNCH") == "" {
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
		cmd := exec.Command(os.Args[0], args...)
		cmd.Env = append(os.Environ(), "GEMINI_CLI_NO_RELAUNCH=true")
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		_ = cmd.Run() // the exit code says it
		return cmd.ProcessState.ExitCode(), nil
	}
	f := &fake{scenario: adaptertest.Scenario(scenario), state: os.Getenv(stateVar), args: args}
	if slices.Contains(args, "--acp") {
		a := &acptest.Agent{Scenario: f.scenario, State: f.state, AskForMCP: !slices.Contains(args, "--approval-mode=yolo"),
			Initialize: fields{"agentInfo": fields{"name": "gemini-cli", "title": "Gemini CLI", "version": "0.61.0"}},
			Answer: func(calls int) fields {
				return fields{"_meta": fields{"quota": fields{"token_count": fields{"input_tokens": 100 * calls, "output_tokens": 20 * calls}}}}
			},
			Stay: f.scenario == adaptertest.Connect, AskAlways: asksAlways(f.option("policy")) && f.option("policy") == f.option("admin-policy")}
		return a.Serve(), nil
	}
	switch f.scenario {
	case adaptertest.Crash:
		return 3, errors.New("something broke inside")
	case adaptertest.Malformed:
		fmt.Println(`{"type":"init",`)
		fmt.Println("Segmentation fault")
		return 0, nil
	case adaptertest.Stubborn:
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT)
	default:
		// A signal ends it with 0 and without a result.
		stop := make(chan os.Signal, 1)
		signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
		go func() { <-stop; os.Exit(0) }()
	}
	return f.prompt()
}

func (f *fake) print(v fields) {
	v["timestamp"] = time.Now().UTC().Format(time.RFC3339Nano)
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	os.Stdout.Write(append(b, '\n'))
}

// option is the value of an argument.
func (f *fake) option(name string) string {
	for _, a := range f.args {
		if v, ok := strings.CutPrefix(a, "--"+name+"="); ok {
			return v
		}
	}
	return ""
}

func (f *fake) prompt() (int, error) {
	said, err := io.ReadAll(os.Stdin)
	if err != nil || len(said) == 0 {
		return 42, errors.New("No input provided via stdin. Input can be provided by piping data into gemini or using the --prompt option.")
	}
	if f.option("output-format") != "stream-json" || !slices.Contains(f.args, "--skip-trust") {
		return 55, errors.New("Gemini CLI is not running in a trusted directory.")
	}
	f.session = cliagent.NewUUID()
	if id := f.option("resume"); id != "" {
		if _, err := os.Stat(filepath.Join(f.state, filepath.Base(id))); err != nil {
			return 42, fmt.Errorf("Error resuming session: Invalid session identifier %q.", id)
		}
		f.session, f.resumed = id, true
	}
	model := f.option("model")
	if model == "" {
		model = "gemini-2.5-flash"
	}
	fmt.Fprintln(os.Stderr, "Ripgrep is not available. Falling back to GrepTool.")
	f.print(fields{"type": "init", "session_id": f.session, "model": model})
	f.print(fields{"type": "message", "role": "user", "content": string(said)})
	_ = os.WriteFile(filepath.Join(f.state, f.session), nil, 0o600)
	fault := f.scene()
	tokens := fields{"total_tokens": 120 * f.calls, "input_tokens": 100 * f.calls, "output_tokens": 20 * f.calls, "cached": 0, "input": 100 * f.calls}
	side := fields{"total_tokens": 999, "input_tokens": 900, "output_tokens": 99, "cached": 0, "input": 900}
	result := fields{"type": "result", "status": "success", "stats": fields{"models": fields{model: tokens, "gemini-3.1-flash-lite": side}}}
	if fault != "" {
		result["status"], result["error"] = "error", fields{"type": "unknown", "message": fault}
		f.print(result)
		return 144, nil
	}
	f.print(result)
	return 0, nil
}

// scene is what happens in the turn.
func (f *fake) scene() (fault string) {
	answer := "hi there"
	switch f.scenario {
	case adaptertest.Remember:
		answer = "nothing to remember"
		if f.resumed {
			answer = "it was 42"
		}
	case adaptertest.Fail:
		return `[API Error: {"error":{"code":400,"message":"no such thing","status":"INVALID_ARGUMENT"}}]`
	case adaptertest.Hang, adaptertest.Stubborn:
		f.speak("working ")
		time.Sleep(time.Minute)
	case adaptertest.Long:
		answer = strings.Repeat("word after word ", 200)
	case adaptertest.Steps, adaptertest.Spend:
		for range 2 {
			f.command("echo step")
		}
		answer = "all steps taken"
	case adaptertest.Approval:
		f.command("touch it")
	}
	f.calls++
	f.speak(answer)
	return ""
}

func (f *fake) speak(text string) {
	for rest := text; rest != ""; {
		n := min(8, len(rest))
		f.print(fields{"type": "message", "role": "assistant", "content": rest[:n], "delta": true})
		rest = rest[n:]
	}
}

// command is a model call that runs a command, where that is allowed.
func (f *fake) command(command string) {
	f.calls++
	f.items++
	id := fmt.Sprintf("%s__call_%s_%d", toolShell, f.session[:8], f.items)
	f.print(fields{"type": "tool_use", "tool_name": toolShell, "tool_id": id, "parameters": fields{"command": command}})
	if f.option("approval-mode") != "yolo" && !strings.HasPrefix(command, "echo") {
		why := `Tool "run_shell_command" not found.`
		f.print(fields{"type": "tool_result", "tool_id": id, "status": "error", "output": why, "error": fields{"type": "tool_not_registered", "message": why}})
		return
	}
	time.Sleep(150 * time.Millisecond)
	f.print(fields{"type": "tool_result", "tool_id": id, "status": "success", "output": "done"})
}
