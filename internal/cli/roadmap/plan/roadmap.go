package plan

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/drawbar/drawbar/adapter/script"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/atomicfile"
	"github.com/drawbar/drawbar/internal/base/lazy"
	"github.com/drawbar/drawbar/internal/base/repofile"
)

// File is the name of the file.
const File = "ROADMAP.md"

const maxFile = 16 << 20

// State is a marker: the state of a task.
type State string

// The states.
const (
	Draft     State = "?"
	Todo      State = " "
	Progress  State = "-"
	Review    State = "~" // done by an agent and not reviewed yet
	Competing State = ">"
	Done      State = "x"
	Blocked   State = "!"
)

// names are the states in words.
var names = map[State]string{Draft: "draft", Todo: "todo", Progress: "in progress", Review: "review", Competing: "competing", Done: "done", Blocked: "blocked"}

// String returns the state in words.
func (s State) String() string {
	if name := names[s]; name != "" {
		return name
	}
	return fmt.Sprintf("unknown [%s]", string(s))
}

// Satisfied reports whether tasks that depend on this one can begin: its work is in the repository.
func (s State) Satisfied() bool { return s == Done || s == Review }

// Task is a task of the file.
type Task struct {
	ID      string       `json:"id"` // such as T1
	State   State        `json:"-"`
	Title   string       `json:"title"` // without id and annotations
	Depends []string     `json:"depends,omitempty"`
	Agent   string       `json:"agent,omitempty"`
	Model   string       `json:"model,omitempty"`
	Feature string       `json:"feature,omitempty"` // the heading above it
	Line    int          `json:"line"`              // from 1
	Files   script.Scope `json:"files,omitempty"`
	Body    string       `json:"-"` // the lines below it that belong to it

	faults []string
}

// Text is the description of the task with its acceptance criteria: task.md.
func (t Task) Text() string {
	text := fmt.Sprintf("# %s: %s\n", t.ID, t.Title)
	if t.Body != "" {
		text += "\n" + t.Body + "\n"
	}
	return text
}

// Roadmap is the file as it was read.
type Roadmap struct {
	Path  string
	Tasks []Task
}

var (
	taskLine   = lazy.Regexp(`^([ \t]*)[-*] \[([^\]]*)\][ \t]+(.*)$`)
	heading    = lazy.Regexp(`^(#{1,6})[ \t]+(.*?)[ \t]*#*$`)
	annotation = lazy.Regexp(`\(([a-z]+):([^()]*)\)`)
	taskID     = lazy.Regexp(`(^|[\s,])#(T[0-9]+)\b`)
	reference  = lazy.Regexp(`^#?(T[0-9]+)$`)
	fence      = lazy.Regexp("^[ \\t]*(```|~~~)")
	name       = lazy.Regexp(`^[a-z0-9][a-z0-9-]*$`)
)

// Root returns the folder of the nearest roadmap, from dir upwards; dir itself if there is none.
func Root(dir string) (string, error) {
	root, err := repofile.Above(dir, File)
	if err == nil && root == "" {
		root, err = filepath.Abs(dir)
	}
	return root, err
}

// Read reads the file of a project.
func Read(root string) (*Roadmap, error) {
	path := filepath.Join(root, File)
	data, err := repofile.Own(path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, execution.Errorf(execution.CodeConfig, "read %s: %w", path, err).WithHint("write one; a task is a line such as: - [ ] Add a login #T1")
	}
	if err != nil {
		return nil, execution.Errorf(execution.CodeConfig, "read %s: %w", path, err)
	}
	if !utf8.Valid(data) {
		return nil, execution.Errorf(execution.CodeConfig, "%s is not UTF-8 text", path).WithHint("save it as UTF-8")
	}
	return &Roadmap{path, parse(string(data))}, nil
}

// parse finds the tasks: list items with a marker and an id. Items without an id belong to the task above them.
func parse(text string) (tasks []Task) {
	feature, fenced, inside := "", false, false
	indent := 0
	var body []string
	open := false
	finish := func() {
		if open {
			t := &tasks[len(tasks)-1]
			t.Body = dedent(body)
			t.Files = script.ScopeOf(t.Body)
			t.faults = append(t.faults, t.Files.Faults()...)
		}
		open, body = false, nil
	}
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimRight(line, "\r\n")
		depth := len(line) - len(strings.TrimLeft(line, " \t"))
		if fence().MatchString(line) {
			fenced = !fenced
			inside = fenced && open && depth > indent
		}
		m := taskLine().FindStringSubmatch(line)
		var t Task
		isTask := false
		if m != nil && !fenced {
			t, isTask = task(m[2], m[3])
		}
		switch h := heading().FindStringSubmatch(line); {
		case isTask:
			finish()
			t.Feature, t.Line, indent, open = feature, number, depth, true
			tasks = append(tasks, t)
		case h != nil && !fenced:
			finish()
			feature = strings.TrimSpace(strings.TrimPrefix(h[2], "Feature:"))
		case open && (strings.TrimSpace(line) == "" || depth > indent || fenced && inside):
			body = append(body, line)
		default:
			finish()
		}
	}
	finish()
	return tasks
}

// task reads what follows the marker.
func task(marker, text string) (t Task, ok bool) {
	t.State = State(marker)
	rest := annotation().ReplaceAllStringFunc(text, func(all string) string {
		m := annotation().FindStringSubmatch(all)
		value := strings.TrimSpace(m[2])
		once := func(into *string) string {
			if *into != "" {
				t.faults = append(t.faults, fmt.Sprintf("(%s:) is there twice", m[1]))
			}
			*into = value
			if !name().MatchString(value) && m[1] == "agent" || value == "" {
				t.faults = append(t.faults, fmt.Sprintf("(%s: %s) is not a valid name", m[1], value))
			}
			return ""
		}
		switch m[1] {
		case "agent":
			return once(&t.Agent)
		case "model":
			return once(&t.Model)
		case "depends":
			for item := range strings.SplitSeq(value, ",") {
				ref := reference().FindStringSubmatch(strings.TrimSpace(item))
				if ref == nil {
					t.faults = append(t.faults, fmt.Sprintf("(depends: %s): %q is not a task", value, strings.TrimSpace(item)))
					continue
				}
				t.Depends = append(t.Depends, ref[1])
			}
			return ""
		}
		return all
	})
	ids := taskID().FindAllStringSubmatchIndex(rest, -1)
	if len(ids) == 0 {
		return t, false
	}
	last := ids[len(ids)-1] // earlier ones are part of the description
	t.ID = rest[last[4]:last[5]]
	t.Title = strings.Join(strings.Fields(rest[:last[0]]+" "+rest[last[1]:]), " ")
	return t, true
}

// dedent removes what all lines begin with, and empty lines around them.
func dedent(lines []string) string {
	least := -1
	for _, l := range lines {
		if n := len(l) - len(strings.TrimLeft(l, " \t")); strings.TrimSpace(l) != "" && (least < 0 || n < least) {
			least = n
		}
	}
	out := make([]string, len(lines))
	for i, l := range lines {
		if strings.TrimSpace(l) != "" {
			out[i] = l[least:]
		}
	}
	return strings.Trim(strings.Join(out, "\n"), "\n")
}

// Task returns a task by its id, with or without #; nil if there is none.
func (r *Roadmap) Task(id string) *Task {
	id = strings.TrimPrefix(id, "#")
	for i := range r.Tasks {
		if r.Tasks[i].ID == id {
			return &r.Tasks[i]
		}
	}
	return nil
}

// Fault is something wrong with the file.
type Fault struct {
	Line    int    `json:"line"`
	Task    string `json:"task,omitempty"`
	Message string `json:"message"`
}

func (f Fault) String() string { return fmt.Sprintf("%s:%d: %s: %s", File, f.Line, f.Task, f.Message) }

// Check lists every fault: markers, duplicate ids, dependencies that are missing, circular or not done, annotations, and declared files.
func (r *Roadmap) Check() (faults []Fault) {
	first := map[string]int{}
	for i, t := range r.Tasks {
		add := func(format string, args ...any) {
			faults = append(faults, Fault{t.Line, t.ID, fmt.Sprintf(format, args...)})
		}
		if at, twice := first[t.ID]; twice {
			add("the id is that of line %d, too", r.Tasks[at].Line)
		} else {
			first[t.ID] = i
		}
		if names[t.State] == "" {
			add("the marker [%s] is unknown; markers are [?] draft, [ ] todo, [-] in progress, [~] review, [>] competing, [x] done, [!] blocked", string(t.State))
		}
		for _, f := range t.faults {
			add("%s", f)
		}
		for j, id := range t.Depends {
			on := r.Task(id)
			switch {
			case id == t.ID:
				add("it depends on itself")
			case slices.Contains(t.Depends[:j], id):
				add("it depends on %s twice", id)
			case on == nil:
				add("it depends on %s, which does not exist", id)
			case t.State == Done && on.State != Done:
				add("it is done, and depends on %s, which is %s", id, on.State)
			case t.State == Progress && on.State == Draft:
				add("it is in progress, and depends on the draft %s", id)
			}
		}
	}
	return append(faults, r.cycles()...)
}

// cycles reports each circle of dependencies once.
func (r *Roadmap) cycles() (faults []Fault) {
	const (
		open = iota + 1
		closed
	)
	state := map[string]int{}
	var path []string
	var visit func(id string)
	visit = func(id string) {
		t := r.Task(id)
		switch {
		case t == nil || state[id] == closed:
			return
		case state[id] == open:
			if at := slices.Index(path, id); len(path)-at > 1 { // one alone is reported as such
				faults = append(faults, Fault{t.Line, id, "the dependencies form a circle: " + strings.Join(append(slices.Clone(path[at:]), id), " -> ")})
			}
			return
		}
		state[id] = open
		path = append(path, id)
		for _, on := range t.Depends {
			visit(on)
		}
		path = path[:len(path)-1]
		state[id] = closed
	}
	for _, t := range r.Tasks {
		visit(t.ID)
	}
	return faults
}

// Waits lists the tasks that a task waits for.
func (r *Roadmap) Waits(t Task) (on []string) {
	for _, id := range t.Depends {
		if d := r.Task(id); d == nil || !d.State.Satisfied() {
			on = append(on, id)
		}
	}
	return on
}

// Mark changes the marker of a task in the file, if it is still from. Nothing else of the file changes.
func Mark(path, id string, from, to State) error {
	data, err := repofile.Own(path, maxFile)
	if err != nil {
		return execution.Errorf(execution.CodeConfig, "mark %s: %w", id, err)
	}
	r := Roadmap{Path: path, Tasks: parse(string(data))}
	t := r.Task(id)
	switch {
	case t == nil:
		return execution.Errorf(execution.CodeConfig, "mark %s: %s no longer has it", id, path)
	case t.State == to:
		return nil
	case t.State != from:
		return execution.Errorf(execution.CodeConfigLock, "mark %s: somebody changed it from %s to %s", id, from, t.State)
	}
	lines := slices.Collect(strings.Lines(string(data)))
	line := lines[t.Line-1]
	at := taskLine().FindStringSubmatchIndex(strings.TrimRight(line, "\r\n"))
	lines[t.Line-1] = line[:at[4]] + string(to) + line[at[5]:]
	info, err := os.Stat(path)
	if err != nil {
		return execution.Errorf(execution.CodeConfig, "mark %s: %w", id, err)
	}
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		err = atomicfile.Write(real, []byte(strings.Join(lines, "")), info.Mode().Perm(), true)
	}
	if err != nil {
		return execution.Errorf(execution.CodeConfig, "mark %s: %w", id, err)
	}
	return nil
}
