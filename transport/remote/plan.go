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
	Env     []string // name=value, over those there
	Command string   // looked up there
	Args    []string
	Login   bool   // the shell there is no login's, and Command needs the PATH of one; a container has the environment of its image
	Private string // directory of Files and Outputs, made there and removed at the end; empty for none
	Files   []File
	Outputs []string      // names in Private that are brought to Here, if the program has written them
	Here    string        // directory on this machine
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
	markNoTmp = mark + "notmp" // it cannot make private files
	markOut   = mark + "out "  // NAME BASE64
)

// markFailed begins the last line of a proxy's standard error if the program did not run to its end: CODE MESSAGE.
const markFailed = mark + "failed "

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
	if p.Login {
		line("for f in /etc/profile \"$HOME/.profile\"; do [ -r \"$f\" ] && . \"$f\" >/dev/null 2>&1; done") // a file that is missing would end the shell
	}
	line("umask 077")
	line("fail() { printf '%%s\\n' \"$1\" >&2; exit %d; }", exitUnreached)
	noTmp := quote(markNoTmp)
	line("w=$(mktemp -d) || fail %s", noTmp)
	clean := `"$w"`
	if p.Private != "" {
		clean += " " + quote(p.Private)
		line("mkdir %s || fail %s", quote(p.Private), noTmp)
	}
	line("trap 'rm -rf %s' EXIT; trap : PIPE", strings.ReplaceAll(clean, "'", `'\''`)) // the shell may say something when the connection is broken
	for _, f := range p.Files {
		if f.Mode.IsDir() {
			line("mkdir -p %s", quote(f.Path))
			continue
		}
		line("mkdir -p %s && printf %%s %s | base64 -d > %s && chmod %o %s || fail %s", quote(path.Dir(f.Path)), quote(base64.StdEncoding.EncodeToString(f.Content)), quote(f.Path), f.Mode.Perm(), quote(f.Path), noTmp)
	}
	line("cd %s 2>/dev/null || fail %s", quote(p.Dir), quote(markNoDir))
	line("set -- %s", strings.Join(quoted(append([]string{p.Command}, p.Args...)), " "))
	line("own=; s=$(command -v setsid) && own=-")
	line("sh=$(command -v sh)")
	line("own_env() {") // for the program alone: with its PATH, the shell might not find what it needs
	for _, e := range append([]string{"DRAWBAR_AT=" + at}, p.Env...) {
		name, value, _ := strings.Cut(e, "=")
		line("export %s=%s", name, quote(value))
	}
	line("}")
	line("( own_env; command -v \"$1\" ) >/dev/null 2>&1 || fail %s", quote(markGone))
	// What the program has started is known by its variable, where the system shows those; elsewhere only its session is.
	line("kin() { grep -ls DRAWBAR_AT=%s /proc/[0-9]*/environ 2>/dev/null | tr -dc '0-9\\n'; }", at)
	line("get() { until [ -s \"$w/$1\" ]; do sleep 0.1; done; cat \"$w/$1\"; }")
	line("end() { p=$own$(get pid); kill -TERM \"$p\" $(kin) 2>/dev/null; n=%d; while [ \"$n\" -gt 0 ] && { kill -0 \"$p\" 2>/dev/null || [ -n \"$(kin)\" ]; }; do sleep 0.1; n=$((n-1)); done; kill -KILL \"$p\" $(kin) 2>/dev/null; }",
		max(int(p.Grace/(100*time.Millisecond)), 1))
	// Neither side is beside the shell: what is has its interrupts ignored. Some shells would run the last one themselves, so both are in parentheses.
	line("exec 5>&2 2>/dev/null") // what the shell says of a process that was ended is nobody's
	line("( sh -c 'echo $PPID' >\"$w/reader\"; trap '' PIPE; while IFS= read -r l; do case $l in I*) printf '%%s\\n' \"${l#I}\";; N*) printf %%s \"${l#N}\";; E) exec >&-;; S) kill -TERM \"$own$(get pid)\";; C) kill -INT \"$own$(get pid)\";; esac; done; exec >&-; end ) |")
	line("( ( own_env; exec $s \"$sh\" -c 'echo $$ >\"$0\"; exec \"$@\"' \"$w/pid\" \"$@\" ); code=$?; kill \"$(get reader)\" 2>/dev/null; exit \"$code\" ) 2>&5 5>&-")
	line("code=$?; exec 2>&5 5>&-")
	line("[ -s \"$w/pid\" ] && { [ -n \"$own\" ] || [ -n \"$(kin)\" ]; } && end")
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
