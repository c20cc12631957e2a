package process

import (
	"path"
	"strings"
)

// maxAncestors bounds the walk up the process tree.
const maxAncestors = 64

// Ancestors names the programs above this process, the parent first: the path or name that a program was started by,
// and the script of an interpreter (node, bun, deno, python). It is nil if the system does not tell.
func Ancestors() []string { return ancestors() }

// program returns the name of what a command line runs.
func program(argv []string) string {
	if len(argv) == 0 {
		return ""
	}
	switch base, _, _ := strings.Cut(strings.TrimSuffix(path.Base(strings.ReplaceAll(argv[0], `\`, "/")), ".exe"), "."); base {
	case "node", "bun", "deno", "python", "python3":
		for _, a := range argv[1:] {
			if !strings.HasPrefix(a, "-") {
				return a
			}
		}
	}
	return argv[0]
}
