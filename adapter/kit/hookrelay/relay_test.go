package hookrelay

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// As the command of a hook the test binary does what a program with MaybeRelay does.
func TestMain(m *testing.M) {
	MaybeRelay()
	goleak.VerifyTestMain(m)
}

func open(t *testing.T, patience time.Duration, handle Handler) (*Server, string) {
	t.Helper()
	s, err := Open(handle, patience)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	file := filepath.Join(t.TempDir(), "it's here.json")
	if err := os.WriteFile(file, s.File(), 0o600); err != nil {
		t.Fatal(err)
	}
	return s, file
}

func ask1(file, event, payload string) (code int, out, errs string) {
	var o, e bytes.Buffer
	code = relay(file, event, strings.NewReader(payload), &o, &e)
	return code, o.String(), e.String()
}

func TestAnswerIsCarried(t *testing.T) {
	var got string
	_, file := open(t, time.Minute, func(_ context.Context, event string, payload []byte) Answer {
		got = event + " " + string(payload)
		return Answer{Stdout: "out", Stderr: "why", ExitCode: 7}
	})
	code, out, errs := ask1(file, "!pre", `{"a":1}`)
	if code != 7 || out != "out" || errs != "why\n" || got != `pre {"a":1}` {
		t.Errorf("code %d, out %q, err %q, got %q", code, out, errs, got)
	}
}

func TestFailsClosed(t *testing.T) {
	allow := func(context.Context, string, []byte) Answer { return Answer{} }
	_, working := open(t, time.Minute, allow)
	closed, dead := open(t, time.Minute, allow)
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	_, slow := open(t, 50*time.Millisecond, func(ctx context.Context, _ string, _ []byte) Answer { <-ctx.Done(); return Answer{} })
	_, panics := open(t, time.Minute, func(context.Context, string, []byte) Answer { panic("handler") })
	var p place
	data, _ := os.ReadFile(working)
	_ = json.Unmarshal(data, &p)
	write := func(name, content string) string {
		f := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(f, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return f
	}
	p.Token = strings.Repeat("0", 64)
	wrong, _ := json.Marshal(p)
	for _, tt := range []struct{ name, file string }{
		{"no file", filepath.Join(t.TempDir(), "none")},
		{"the run is over", dead},
		{"wrong token", write("wrong", string(wrong))},
		{"garbage in the file", write("garbage", "{")},
		{"empty file", write("empty", "{}")},
		{"slow handler", slow},
		{"handler panics", panics},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, out, errs := ask1(tt.file, "!pre", "{}")
			if code != 2 || out != "" || !strings.Contains(errs, "denied") {
				t.Errorf("code %d, out %q, err %q", code, out, errs)
			}
			if code, _, _ := ask1(tt.file, "told", "{}"); code == 0 || code == 2 && tt.name != "handler panics" {
				t.Errorf("a hook that is only told ended with %d", code)
			}
		})
	}
	if code, _, errs := ask1(working, "!pre", "{}"); code != 0 || errs != "" {
		t.Errorf("the working one: %d %q", code, errs)
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestUnreadAnswerDenies(t *testing.T) {
	_, file := open(t, time.Minute, func(context.Context, string, []byte) Answer { return Answer{Stdout: `{"deny":true}`} })
	if code := relay(file, "!pre", strings.NewReader("{}"), brokenPipe{}, &bytes.Buffer{}); code != 2 {
		t.Errorf("code %d", code)
	}
}

func TestHugePayload(t *testing.T) {
	_, file := open(t, time.Minute, func(_ context.Context, _ string, payload []byte) Answer {
		return Answer{Stdout: fmt.Sprint(len(payload))}
	})
	if code, out, errs := ask1(file, "!pre", strings.Repeat("x", 20<<20)); code != 0 || out != fmt.Sprint(20<<20) {
		t.Errorf("code %d, out %q, err %q", code, out, errs)
	}
}

func TestConcurrentCalls(t *testing.T) {
	_, file := open(t, time.Minute, func(_ context.Context, _ string, payload []byte) Answer { return Answer{Stdout: string(payload)} })
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			want := fmt.Sprintf(`{"i":%d}`, i)
			if code, out, errs := ask1(file, "!pre", want); code != 0 || out != want {
				t.Errorf("code %d, out %q, err %q", code, out, errs)
			}
		})
	}
	wg.Wait()
}

func TestGoneCommandEndsItsHandler(t *testing.T) {
	started, ended := make(chan struct{}), make(chan struct{})
	s, _ := open(t, time.Minute, func(ctx context.Context, _ string, _ []byte) Answer {
		close(started)
		<-ctx.Done()
		close(ended)
		return Answer{}
	})
	c, err := net.Dial("tcp", s.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(writeFrame(c, hello{s.token}), writeFrame(c, question{Event: "pre"})); err != nil {
		t.Fatal(err)
	}
	<-started
	c.Close()
	<-ended
}

func TestStrangersGetNoWord(t *testing.T) {
	s, _ := open(t, time.Minute, func(context.Context, string, []byte) Answer { t.Error("called"); return Answer{} })
	for _, say := range []string{"GET / HTTP/1.1\r\n\r\n", "\xff\xff\xff\xff", "\x00\x00\x00\x02{}", ""} {
		c, err := net.Dial("tcp", s.listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = c.Write([]byte(say))
		_ = c.(*net.TCPConn).CloseWrite()
		_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
		if n, _ := c.Read(make([]byte, 1)); n != 0 {
			t.Errorf("an answer to %q", say)
		}
		c.Close()
	}
}

// The command as an agent starts it: through a shell, with the token nowhere to be seen.
func TestCommandLine(t *testing.T) {
	if _, err := exec.LookPath("/bin/sh"); err != nil {
		t.Skip("SKIPPED: there is no shell")
	}
	s, file := open(t, time.Minute, func(_ context.Context, event string, payload []byte) Answer {
		return Answer{Stdout: event + string(payload), ExitCode: 5}
	})
	line, err := Line(file, "pre", true)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(line, s.token) {
		t.Error("the token is in the command line")
	}
	cmd := exec.Command("/bin/sh", "-c", line)
	cmd.Stdin = strings.NewReader(" payload")
	out, err := cmd.Output()
	if ee, ok := err.(*exec.ExitError); !ok || ee.ExitCode() != 5 || string(out) != "pre payload" {
		t.Errorf("%v %q", err, out)
	}
}

func TestShell(t *testing.T) {
	if got := Shell("linux", []string{"/a b/it's", "x"}); got != `'/a b/it'\''s' 'x'` {
		t.Error(got)
	}
	if got := Shell("windows", []string{`C:\a b\d.exe`, "x"}); got != `"C:\a b\d.exe" "x"` {
		t.Error(got)
	}
}

func FuzzFrame(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x02{}"))
	f.Add([]byte("\xff\xff\xff\xff"))
	f.Fuzz(func(_ *testing.T, b []byte) {
		var q question
		_ = readFrame(bytes.NewReader(b), &q, 1<<20)
	})
}

// TestStrangersTakeNoMemory: who does not know the token is heard for a kilobyte, whatever it announces and however often it
// calls, and the run's own commands get through meanwhile.
func TestStrangersTakeNoMemory(t *testing.T) {
	s, file := open(t, time.Minute, func(context.Context, string, []byte) Answer { return Answer{Stdout: "yes"} })
	runtime.GC()
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	garbage := bytes.Repeat([]byte("x"), 256<<10)
	var conns []net.Conn
	defer func() {
		for _, c := range conns {
			_ = c.Close()
		}
	}()
	for i := range 400 {
		c, err := net.Dial("tcp", s.listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, c)
		if i%2 == 0 {
			continue // says nothing
		}
		_ = c.SetWriteDeadline(time.Now().Add(time.Second))
		_, _ = c.Write(binary.BigEndian.AppendUint32(nil, 400<<20))
		_, _ = c.Write(garbage)
	}
	if code, out, errs := ask1(file, "!pre", "{}"); code != 0 || out != "yes" {
		t.Errorf("the run's own command: %d %q %q", code, out, errs)
	}
	runtime.GC()
	runtime.ReadMemStats(&now)
	if grown := int64(now.HeapAlloc+now.StackInuse) - int64(before.HeapAlloc+before.StackInuse); grown > 5<<20 {
		t.Errorf("strangers took %d bytes", grown)
	}
}
