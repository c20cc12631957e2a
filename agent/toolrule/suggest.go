package toolrule

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/execution"
)

// runners are commands whose other words are programs or code, or that destroy: a rule for their beginning would allow too much.
var runners = []string{"bash", "bun", "bunx", "chmod", "chown", "curl", "dash", "dd", "deno", "docker", "doas", "env", "eval", "exec", "find", "gh", "kill", "kubectl", "mkfs",
	"mv", "nice", "node", "nohup", "npx", "perl", "php", "pipx", "pkill", "podman", "powershell", "pwsh", "python", "python3", "rm", "rmdir", "rsync", "ruby", "scp", "sh", "source",
	"ssh", "sudo", "tee", "time", "timeout", "truncate", "uvx", "watch", "wget", "xargs", "zsh"}

// Suggest returns a rule that allows a call and those like it: edits in the working directory, reading in a directory, a command with
// other arguments, the same tool of a server. ok is false if no rule that can be stated allows it.
func Suggest(u Use) (r Rule, ok bool) {
	for _, text := range suggestions(u) {
		r, err := Parse(text)
		if err != nil {
			continue
		}
		if _, ok := (Rules{r}).Allow(u); ok {
			return r, true
		}
	}
	return Rule{}, false
}

// suggestions are the rules to try, the most useful first.
func suggestions(u Use) []string {
	switch u.Kind {
	case execution.ToolShell:
		return shellSuggestions(u.Command)
	case execution.ToolEdit, execution.ToolRead:
		verb := "Edit"
		if u.Kind == execution.ToolRead {
			verb = "Read"
		}
		list := []string{verb + "(**)"}
		if len(u.Paths) == 1 {
			if strings.ContainsAny(u.Paths[0], "*?[{\\") && filepath.Separator == '/' {
				return list[:1] // the rule would mean other files, too
			}
			at := filepath.ToSlash(real(absolute(u.Dir, u.Paths[0])))
			if u.Kind == execution.ToolRead {
				list = append(list, verb+"("+at[:strings.LastIndex(at, "/")+1]+"**)")
			}
			list = append(list, verb+"("+at+")")
		}
		return list
	case execution.ToolMCP:
		if strings.ContainsAny(u.Server+u.Tool, "*?[\\/") {
			return nil
		}
		return []string{"MCP(" + u.Server + "/" + u.Tool + ")"}
	case execution.ToolFetch:
		return []string{"Fetch"}
	case execution.ToolAgent:
		return []string{"Agent"}
	case execution.ToolSkill:
		return []string{"Skill"}
	}
	return []string{u.Name}
}

// shellSuggestions are for a single plain command only: of several, one rule would allow more than was asked.
func shellSuggestions(line string) []string {
	commands, ok, _ := parse(line)
	if !ok || len(commands) != 1 || !commands[0].plain || len(commands[0].words) == 0 {
		return nil
	}
	words := commands[0].words
	exact := "Bash(" + strings.TrimSpace(line) + ")"
	if slices.ContainsFunc(words, func(w word) bool { return !w.known }) || slices.Contains(runners, filepath.Base(words[0].text)) {
		return []string{exact}
	}
	begin := words[0].text
	if len(words) > 1 && subcommand(words[1].text) {
		begin += " " + words[1].text
	}
	return []string{"Bash(" + begin + ":*)", exact}
}

// subcommand reports whether a word looks like the name of a subcommand rather than an argument.
func subcommand(word string) bool {
	return word != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyz-") == "" && word[0] != '-'
}
