package cassette

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/drawbar/drawbar/internal/base/linefile"
)

const head = `{"cassette":1}` + "\n"

var sample = Exchange{
	Request: Request{Method: "POST", Path: "/v1/messages?beta=true", Side: "title", Body: json.RawMessage(`{"model":"m","x":"<&>"}`)},
	Answer:  Answer{Status: 200, Header: map[string]string{"content-type": "text/event-stream"}, Stream: []string{"event: a\ndata: {}\n\n", "x"}, Cut: true},
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "c.jsonl")
	want := []Exchange{sample}
	for _, a := range []Answer{
		{Status: 200, JSON: json.RawMessage(`{"a":[1.50,"<"]}`)}, {Status: 429, Header: map[string]string{"retry-after": "1"}, Text: "slow\ndown"},
		{Status: 200, Base64: []byte{0xff, 0}}, {Status: 204},
	} {
		want = append(want, Exchange{Request: Request{Method: "GET", Path: "/v1/models"}, Answer: a})
	}
	w, err := Create(path, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range want[:3] {
		if err := w.Add(x); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), w.Close()); err != nil {
		t.Fatal(err)
	}
	if w.Add(sample) == nil {
		t.Error("a closed writer takes an exchange")
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 && os.PathSeparator == '/' {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if _, err := Create(path, false); !errors.Is(err, ErrExists) {
		t.Errorf("an existing file: %v", err)
	}
	text, _ := os.ReadFile(path)
	if err := os.WriteFile(path, []byte(strings.TrimSuffix(string(text), "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	if w, err = Create(path, true); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for _, x := range want[3:] {
		all.Go(func() {
			if err := w.Add(x); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	got, err := Read(f)
	if err != nil {
		t.Fatal(err)
	}
	if got[3].Answer.Status == 204 { // written at the same time
		got[3], got[4] = got[4], got[3]
		got[3].Line, got[4].Line = got[4].Line, got[3].Line
	}
	for i := range want {
		want[i].Line = i + 2
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if err := os.WriteFile(path, []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(path, true); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("a file that is no cassette is continued: %v", err)
	}
}

func TestBadFiles(t *testing.T) {
	t.Parallel()
	const good = `{"request":{"method":"GET","path":"/a"},"answer":{"status":200}}`
	for _, tt := range []struct{ name, text, want string }{
		{"empty", "", "line 1: the file is empty"},
		{"something else", "hello\n", `line 1: it is not {"cassette":1}, with which a cassette begins`},
		{"other JSON lines", good + "\n", `line 1: it is not {"cassette":1}, with which a cassette begins`},
		{"newer", `{"cassette":2}` + "\n", "line 1: version 2 is not supported; this program reads version 1"},
		{"version of text", `{"cassette":"1"}` + "\n", "line 1: version"},
		{"more in the first line", `{"cassette":1,"a":1}` + "\n", `line 1: it has more than {"cassette":1}`},
		{"no JSON", head + good + "\nhello\n", "line 3: it is not JSON: invalid character 'h'"},
		{"truncated in the middle", head + good[:30] + "\n" + good + "\n", "line 2: it is not JSON: unexpected end"},
		{"two values", head + good + good + "\n", "line 2: it is not JSON"},
		{"empty line", head + "\n" + good + "\n", "line 2: it is empty"},
		{"unknown field", head + strings.Replace(good, `"status"`, `"statuss":1,"status"`, 1) + "\n", `line 2: unknown key "statuss" in answer`},
		{"other case", head + strings.Replace(good, "status", "Status", 1) + "\n", `it is spelled "status"`},
		{"twice", head + strings.Replace(good, `"status"`, `"status":1,"status"`, 1) + "\n", "is there twice"},
		{"wrong type", head + strings.Replace(good, "200", `"200"`, 1) + "\n", "line 2: json: cannot unmarshal"},
		{"no status", head + strings.Replace(good, "200", "0", 1) + "\n", "line 2: answer.status is 0"},
		{"no method", head + strings.Replace(good, "GET", "get", 1) + "\n", `line 2: request.method is "get"`},
		{"no path", head + strings.Replace(good, "/a", "a", 1) + "\n", `line 2: request.path is "a"`},
		{"two bodies", head + strings.Replace(good, `"status"`, `"text":"a","json":1,"status"`, 1) + "\n", "line 2: answer has more than one"},
		{"no text", head + strings.Replace(good, "/a", "/\xff", 1) + "\n", "line 2: it is not UTF-8"},
	} {
		got, err := Read(strings.NewReader(tt.text))
		if err == nil || got != nil || !strings.HasPrefix(err.Error(), "line ") || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
	}
	got, err := Read(strings.NewReader(head + good + "\n" + good[:30]))
	if !errors.Is(err, linefile.ErrCutOff) || !strings.HasPrefix(err.Error(), "line 3: it is cut off") || len(got) != 1 {
		t.Errorf("cut off in the last line: %v, %v", got, err)
	}
	if got, err := Read(strings.NewReader(head + good + "\r\n" + good)); err != nil || len(got) != 2 {
		t.Errorf("other line ends, and none at the end: %v", err)
	}
}

// FuzzRead: no panic, faults have a line, and what was read is written and read the same.
func FuzzRead(f *testing.F) {
	line, _ := json.Marshal(sample)
	f.Add(head + string(line) + "\n")
	f.Add(head + `{"request":{"method":"GET","path":"/"},"answer":{"status":200,"base64":"/w==","header":{}}}`)
	f.Add("{\n")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := Read(strings.NewReader(text))
		if err != nil {
			var fault *linefile.LineError
			if !errors.As(err, &fault) || got != nil && !errors.Is(err, linefile.ErrCutOff) {
				t.Fatalf("%v", err)
			}
			return
		}
		path := filepath.Join(t.TempDir(), "c")
		w, err := Create(path, false)
		if err != nil {
			t.Fatal(err)
		}
		for i := range got {
			got[i].Line = i + 2
			if err := w.Add(got[i]); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		written, _ := os.ReadFile(path)
		again, err := Read(strings.NewReader(string(written)))
		if err != nil || len(again) != len(got) {
			t.Fatalf("%v\n%s", err, written)
		}
	})
}
