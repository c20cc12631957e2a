// Package remote runs a program elsewhere: on another machine over ssh, in a container, or in a pod. What it needs, and what is secret, goes over
// standard input, never into an argument. It knows nothing about agents.
package remote

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// Plan is what runs on a target.
type Plan struct {
	Argv    []string // that reaches the target; see Target.Argv
	Where   string   // for errors
	Dir     string   // working directory there
	Env     []string // name=value, over that of a login there
	Command string   // looked up there
	Args    []string
	Private string // directory of Files and Outputs, made there and removed at the end; empty for none
	Files   []File
	Outputs []string      // names in Private that are brought back, if the program has written them
	Grace   time.Duration // from TERM to KILL when the connection ends
}

// File is a private file of the program.
type File struct {
	Path    string // below Plan.Private
	Content []byte
	Mode    fs.FileMode // a directory is made empty
}

// Lines of the target's standard error that are not the program's begin with mark.
const (
	mark      = "\x1edrawbar "
	markUp    = mark + "up"
	markGone  = mark + "missing" // the program is not there
	markNoDir = mark + "nodir"
	markOut   = mark + "out " // NAME BASE64
)

// Lines of the target's standard input, after the script.
const (
	frameLine = 'I' // a line of the program's input
	framePart = 'N' // the rest of it, without a line ending
	frameEnd  = "E" // it ends
	frameStop = "S" // ask the program to stop
	frameInt  = "C" // interrupt it
)

// quote quotes for a POSIX shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// script is what the target runs. It starts the program in a session of its own where the system can, passes on what the caller says, and ends everything
// when the connection ends, however that happens.
func (p Plan) script() string {
	var b strings.Builder
	at := rand.Text()
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("printf '%%s\\n' %s >&2", quote(markUp))
	line(". /etc/profile >/dev/null 2>&1; [ -r \"$HOME/.profile\" ] && . \"$HOME/.profile\" >/dev/null 2>&1")
	line("umask 077")
	line("w=$(mktemp -d) || exit 96")
	clean := `"$w"`
	if p.Private != "" {
		clean += " " + quote(p.Private)
		line("mkdir %s || exit 96", quote(p.Private))
	}
	line("trap 'rm -rf %s' EXIT", strings.ReplaceAll(clean, "'", `'\''`))
	for _, f := range p.Files {
		if f.Mode.IsDir() {
			line("mkdir -p %s", quote(f.Path))
			continue
		}
		line("mkdir -p %s && printf %%s %s | base64 -d > %s && chmod %o %s || exit 96", quote(path.Dir(f.Path)), quote(base64.StdEncoding.EncodeToString(f.Content)), quote(f.Path), f.Mode.Perm(), quote(f.Path))
	}
	line("cd %s 2>/dev/null || { printf '%%s\\n' %s >&2; exit 96; }", quote(p.Dir), quote(markNoDir))
	for _, e := range p.Env {
		name, value, _ := strings.Cut(e, "=")
		line("export %s=%s", name, quote(value))
	}
	line("set -- %s", strings.Join(quoted(append([]string{p.Command}, p.Args...)), " "))
	line("command -v \"$1\" >/dev/null 2>&1 || { printf '%%s\\n' %s >&2; exit 127; }", quote(markGone))
	line("env --default-signal=INT true 2>/dev/null && set -- env --default-signal=INT,QUIT \"$@\"") // what a shell starts beside itself ignores them
	line("mkfifo \"$w/in\" || exit 96")
	line("exec 3<&0")
	line("if command -v setsid >/dev/null 2>&1; then own=-; ( export DRAWBAR_AT=%[1]s; exec setsid \"$@\" <\"$w/in\" 3<&- ) & else own=; ( export DRAWBAR_AT=%[1]s; exec \"$@\" <\"$w/in\" 3<&- ) & fi", at)
	line("pid=$!")
	line("exec 4>\"$w/in\"")
	// What the program has started is known by its variable, where the system shows those; elsewhere only its session is.
	line("kin() { grep -ls DRAWBAR_AT=%s /proc/[0-9]*/environ 2>/dev/null | tr -dc '0-9\\n'; }", at)
	line("end() { kill -TERM \"$own$pid\" $(kin) 2>/dev/null; n=%d; while [ \"$n\" -gt 0 ] && { kill -0 \"$own$pid\" 2>/dev/null || [ -n \"$(kin)\" ]; }; do sleep 0.1; n=$((n-1)); done; kill -KILL \"$own$pid\" $(kin) 2>/dev/null; }",
		max(int(p.Grace/(100*time.Millisecond)), 1))
	line("( trap '' PIPE; while IFS= read -r l; do case $l in I*) printf '%%s\\n' \"${l#I}\" >&4;; N*) printf %%s \"${l#N}\" >&4;; E) exec 4>&-;; S) kill -TERM \"$own$pid\" 2>/dev/null;; C) kill -INT \"$own$pid\" 2>/dev/null;; esac; done; exec 4>&-; end ) <&3 2>/dev/null &")
	line("reader=$!")
	line("exec 3<&- 4>&-")
	line("wait \"$pid\"; code=$?")
	line("kill \"$reader\" 2>/dev/null")
	line("{ [ -n \"$own\" ] || [ -n \"$(kin)\" ]; } && end")
	for _, name := range p.Outputs {
		file := quote(path.Join(p.Private, name))
		line("[ -f %s ] && printf '%%s%%s %%s\\n' %s %s \"$(base64 < %s | tr -d '\\n')\" >&2", file, quote(markOut), quote(name), file)
	}
	line("exit \"$code\"")
	return b.String()
}

func quoted(words []string) []string {
	out := slices.Clone(words)
	for i, w := range out {
		out[i] = quote(w)
	}
	return out
}
