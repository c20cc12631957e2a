package toolrule

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/drawbar/drawbar/execution"
)

// shell reads the words of a pattern for commands: all words, or the first ones with :* after them.
func (r Rule) shell() (Rule, error) {
	text := r.pattern
	for _, end := range []string{":*", " *"} {
		if before, ok := strings.CutSuffix(text, end); ok {
			text, r.prefix = before, true
			break
		}
	}
	if text == "*" {
		r.pattern = "" // every command
		return r, nil
	}
	commands, ok, _ := parse(text)
	if !ok || len(commands) != 1 || !commands[0].plain || len(commands[0].words) == 0 {
		return Rule{}, fmt.Errorf("the rule %q: %q is not one plain command; several commands need a rule each", r.text, text)
	}
	for _, w := range commands[0].words {
		if !w.known || strings.Contains(w.text, "*") {
			return Rule{}, fmt.Errorf("the rule %q: only :* at the end stands for other words", r.text)
		}
		r.words = append(r.words, w.text)
	}
	return r, nil
}

// command is a simple command of a command line.
type command struct {
	words []word
	plain bool // it sets no variables and writes to no file
}

// word is a word of a command; only the shell knows what an unknown one becomes.
type word struct {
	text  string
	known bool
}

// parse returns the simple commands of a command line, those in substitutions included. ok is false if the line has something else in it
// that could have an effect, parsed if it is not the language of a shell.
func parse(line string) (list []command, ok, parsed bool) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil {
		return nil, false, false
	}
	ok = true
	written := map[*syntax.CallExpr]bool{}
	syntax.Walk(file, func(node syntax.Node) bool {
		switch n := node.(type) {
		case *syntax.Stmt:
			if call, is := n.Cmd.(*syntax.CallExpr); is {
				written[call] = writes(n.Redirs)
			} else if writes(n.Redirs) {
				ok = false
			}
		case *syntax.CallExpr:
			c := command{plain: len(n.Assigns) == 0 && !written[n]}
			for _, w := range n.Args {
				text, known := literal(w.Parts)
				c.words = append(c.words, word{text, known})
			}
			if ok = ok && (len(c.words) > 0 || c.plain); len(c.words) > 0 {
				list = append(list, c)
			}
		case *syntax.FuncDecl, *syntax.DeclClause, *syntax.LetClause, *syntax.CoprocClause, *syntax.ProcSubst, *syntax.TestDecl, *syntax.ExtGlob:
			ok = false
		}
		return true
	})
	return list, ok, true
}

// writes reports whether a redirection may change a file.
func writes(list []*syntax.Redirect) bool {
	return slices.ContainsFunc(list, func(r *syntax.Redirect) bool {
		switch r.Op {
		case syntax.RdrIn, syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc, syntax.DplIn:
			return false
		}
		text, known := literal(r.Word.Parts)
		return !known || text != "/dev/null" && (r.Op != syntax.DplOut || strings.Trim(text, "0123456789-") != "")
	})
}

// literal returns the text of a word that the shell takes as it is. The text of another one is as far as it goes.
func literal(parts []syntax.WordPart) (text string, known bool) {
	var b strings.Builder
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			if strings.ContainsAny(p.Value, "*?[{~") {
				return b.String() + p.Value, false
			}
			b.WriteString(unescape(p.Value))
		case *syntax.SglQuoted:
			if p.Dollar {
				return b.String(), false
			}
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			inner, known := literalQuoted(p)
			b.WriteString(inner)
			if !known {
				return b.String(), false
			}
		default:
			return b.String(), false
		}
	}
	return b.String(), true
}

func literalQuoted(q *syntax.DblQuoted) (string, bool) {
	var b strings.Builder
	for _, p := range q.Parts {
		lit, ok := p.(*syntax.Lit)
		if !ok || q.Dollar {
			return b.String(), false
		}
		b.WriteString(strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\$`, `$`, "\\`", "`", "\\\n", "").Replace(lit.Value))
	}
	return b.String(), true
}

// unescape removes the backslashes of an unquoted word.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			if i++; s[i] == '\n' {
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// shells run the command line that follows -c.
var shells = []string{"sh", "bash", "zsh", "dash", "ksh"}

// carriers run the command that their arguments name.
var carriers = []string{"sudo", "doas", "env", "command", "builtin", "exec", "nohup", "nice", "ionice", "time", "timeout", "xargs", "parallel", "stdbuf",
	"setsid", "watch", "find", "busybox", "chroot", "unshare", "flock", "script"}

const deepest = 5 // command lines in command lines

// allowShell returns a rule for the last command of a line if every command has one.
func (rs Rules) allowShell(line string) (Rule, bool) { return rs.allowLine(line, deepest) }

func (rs Rules) allowLine(line string, depth int) (rule Rule, ok bool) {
	commands, ok, _ := parse(line)
	if !ok || len(commands) == 0 || depth == 0 {
		return Rule{}, false
	}
	for _, c := range commands {
		if inner, is := c.inner(); is && c.plain {
			if rule, ok = rs.allowLine(inner, depth-1); ok {
				continue
			}
		}
		i := slices.IndexFunc(rs, func(r Rule) bool { return r.kind == execution.ToolShell && c.plain && r.begins(c.words) })
		if i < 0 {
			return Rule{}, false
		}
		rule = rs[i]
	}
	return rule, true
}

// begins reports whether the words are those of the pattern.
func (r Rule) begins(words []word) bool {
	if r.pattern == "" || len(words) < len(r.words) || !r.prefix && len(words) > len(r.words) {
		return r.pattern == ""
	}
	for i, w := range r.words {
		if !words[i].known || words[i].text != w {
			return false
		}
	}
	return true
}

// inner returns the line of a shell that was started with -c, if that is all that it was started with.
func (c command) inner() (string, bool) {
	if len(c.words) != 3 || slices.ContainsFunc(c.words, func(w word) bool { return !w.known }) {
		return "", false
	}
	option := c.words[1].text
	return c.words[2].text, slices.Contains(shells, path.Base(c.words[0].text)) && (option == "-c" || option == "-lc")
}

// deniesShell reports whether a line has the pattern's command in it, or something that cannot be told.
func (r Rule) deniesShell(line string) bool { return r.deniesLine(line, deepest) }

func (r Rule) deniesLine(line string, depth int) bool {
	commands, _, parsed := parse(line)
	return !parsed || line == "" || depth == 0 || slices.ContainsFunc(commands, func(c command) bool { return r.deniesWords(c.words, depth) })
}

func (r Rule) deniesWords(words []word, depth int) bool {
	if len(words) == 0 {
		return false
	}
	if !words[0].known {
		return true
	}
	name := path.Base(words[0].text)
	if r.starts(words) {
		return true
	}
	switch rest := words[1:]; {
	case name == "eval":
		var line []string
		for _, w := range rest {
			if !w.known {
				return true
			}
			line = append(line, w.text)
		}
		return r.deniesLine(strings.Join(line, " "), depth-1)
	case slices.Contains(shells, name):
		for i, w := range rest {
			if strings.HasPrefix(w.text, "-") && !strings.HasPrefix(w.text, "--") && strings.Contains(w.text, "c") && i+1 < len(rest) {
				return !rest[i+1].known || r.deniesLine(rest[i+1].text, depth-1)
			}
		}
		return !slices.ContainsFunc(rest, func(w word) bool { return !strings.HasPrefix(w.text, "-") }) // it reads commands that nobody sees
	case slices.Contains(carriers, name):
		for i := range rest {
			if r.deniesLater(rest[i:], depth) {
				return true
			}
		}
	}
	return false
}

// deniesLater is deniesWords for what may be the arguments of a carrier or the command that it runs.
func (r Rule) deniesLater(words []word, depth int) bool {
	if !words[0].known {
		return false
	}
	name := path.Base(words[0].text)
	return r.starts(words) || (name == "eval" || slices.Contains(shells, name)) && r.deniesWords(words, depth)
}

// starts is begins for a rule that denies: the program may have a path, and what is not known may be the word.
func (r Rule) starts(words []word) bool {
	if len(words) < len(r.words) || !r.prefix && len(words) > len(r.words) {
		return false
	}
	for i, w := range r.words {
		text := words[i].text
		if i == 0 && !strings.Contains(w, "/") {
			text = strings.TrimSuffix(path.Base(strings.ReplaceAll(text, `\`, "/")), ".exe")
		}
		if words[i].known && text != w {
			return false
		}
	}
	return true
}
