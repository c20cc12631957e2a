package cliagent

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/drawbar/drawbar/adapter/kit/hookrelay"
	"github.com/drawbar/drawbar/transport/process"
)

// fakeVar names the fake agent that the test binary plays.
const fakeVar = "CLIAGENT_FAKE"

// pidsVar names the file where a fake notes what it started.
const pidsVar = "CLIAGENT_PIDS"

func TestMain(m *testing.M) {
	process.MaybeKeeper()
	hookrelay.MaybeRelay()
	if name := os.Getenv(fakeVar); name != "" {
		note(os.Getpid())
		fake, ok := fakes[name]
		if !ok {
			fmt.Fprintln(os.Stderr, "no such fake:", name)
			os.Exit(99)
		}
		os.Exit(fake())
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if code == 0 && flag.Lookup("test.run").Value.String() == "" && flag.Lookup("test.fuzz").Value.String() == "" && runtime.GOOS != "windows" {
			for name := range fakes {
				if _, ok := played.Load(name); !ok {
					fmt.Println("FAIL: no test uses the fake", name)
					code = 1
				}
			}
		}
		os.Exit(code)
	}))
}

// played notes the fakes that were started.
var played sync.Map

func note(pid int) {
	f, err := os.OpenFile(os.Getenv(pidsVar), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	fmt.Fprintln(f, pid)
	f.Close()
}

func say(lines ...string) {
	for _, l := range lines {
		fmt.Println(l)
	}
}

// fakes speak the line protocol of lineParser.
var fakes = map[string]func() int{
	"hooked": playHooked,
	"asker":  playAsker,
	"output": func() int { // writes the file that the first argument names, and the second as a folder
		_ = os.WriteFile(os.Args[1], []byte("what I used"), 0o600)
		_ = os.Mkdir(os.Args[2], 0o700)
		fmt.Println("text wrote it")
		fmt.Println("done ")
		return 0
	},
	"simple": func() int {
		prompt, _ := io.ReadAll(os.Stdin)
		say("session s1", "turn 0", "text hello", "text "+string(prompt), "end 0", "result completed")
		return 0
	},
	"tools": func() int {
		say("session s1", "turn 0", "tool t1", "toolend t1", "tool t2", "toolend t2", "end 0", "result completed")
		return 0
	},
	"noise": func() int {
		say("who knows", "session s1", "", "what this is")
		fmt.Fprintln(os.Stderr, "nor this")
		say("result completed")
		return 0
	},
	"crash": func() int {
		say("session s1", "text half")
		fmt.Fprintln(os.Stderr, "it went boom")
		return 3
	},
	"signal": func() int {
		say("session s1")
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			self.Kill()
		}
		time.Sleep(time.Minute)
		return 0
	},
	"failed": func() int {
		say("result failed")
		return 1
	},
	"wordless": func() int { return 0 },
	"hang": func() int {
		say("session s1")
		time.Sleep(time.Minute)
		return 0
	},
	"flood": func() int {
		w := bufio.NewWriterSize(os.Stdout, 64<<10)
		fmt.Fprintln(w, "session s1")
		for i := range 20000 {
			fmt.Fprintf(w, "text %d\n", i)
			fmt.Fprintf(os.Stderr, "")
		}
		fmt.Fprintln(w, "result completed")
		w.Flush()
		return 0
	},
	"partial": func() int {
		fmt.Print("session s1\nresult comp")
		time.Sleep(20 * time.Millisecond)
		fmt.Print("leted")
		return 0
	},
	"utf8": func() int {
		fmt.Print("text a\xffb\n\xc3\x28 odd\nresult completed\n")
		return 0
	},
	"endless": func() int {
		for range 64 {
			fmt.Print(strings.Repeat("x", 64<<10))
		}
		return 0
	},
	"ask": func() int {
		say("session s1", "turn 0", "ask q1")
		in := bufio.NewScanner(os.Stdin)
		in.Scan()
		say("text got "+in.Text(), "end 0", "result completed")
		return 0
	},
	"deafexit": func() int {
		say("result completed")
		return 0
	},
	"closed": func() int {
		say("session s1", "result completed")
		os.Stdout.Close()
		os.Stderr.Close()
		time.Sleep(time.Minute)
		return 0
	},
	"stubborn": func() int {
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT)
		say("session s1", "ready")
		time.Sleep(time.Minute)
		return 0
	},
	"family": func() int {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), fakeVar+"=sleeper")
		c.Stdout, c.Stderr = os.Stdout, os.Stderr
		if err := c.Start(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 98
		}
		say("session s1", "result completed")
		return 0
	},
	"sleeper": func() int {
		time.Sleep(time.Minute)
		return 0
	},
	"env": func() int {
		for _, v := range os.Environ() {
			say("text " + v)
		}
		say("result completed")
		return 0
	},
	// chat answers every line of its input with a turn and ends with its input.
	"chat": func() int {
		say("session s1")
		in := bufio.NewScanner(os.Stdin)
		for n := 0; in.Scan(); n++ {
			say(fmt.Sprintf("turn %d", n), "text you said "+in.Text(), fmt.Sprintf("end %d", n))
		}
		say("result completed")
		return 0
	},
	// lingers says that it is done and stays.
	"lingers": func() int {
		say("session s1", "result completed", "done")
		time.Sleep(time.Minute)
		return 0
	},
	"files": func() int {
		for _, name := range os.Args[1:] {
			data, err := os.ReadFile(name)
			info, statErr := os.Stat(name)
			if err != nil || statErr != nil {
				fmt.Fprintln(os.Stderr, err, statErr)
				return 1
			}
			say(fmt.Sprintf("text %v %s", info.Mode().Perm(), data))
		}
		say("result completed")
		return 0
	},
	"panics": func() int {
		say("session s1", "text before", "panic", "text after", "result completed")
		return 0
	},
	// toolcaller calls every tool that the server named by its arguments offers.
	"toolcaller": func() int {
		text, err := callTools(os.Args[1], os.Getenv("TOOL_AUTH"))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		say("session s1", "text "+text, "result completed")
		return 0
	},
	"colors": func() int {
		say("\x1b[32mtext green\x1b[0m", "\x1b]0;a title\atext plain", "result completed")
		return 0
	},
	"silenttool": func() int {
		say("session s1", "turn 0", "tool t1")
		time.Sleep(3 * time.Second)
		say("toolend t1", "end 0", "result completed")
		return 0
	},
}
