package remote

import (
	"strings"

	"github.com/drawbar/drawbar/execution"
)

// boot reads the length of a script and the script from standard input, and runs it; the rest of the input is the script's. It is quoted for every login
// shell: there is neither a quote nor an exclamation mark in it.
const boot = `IFS= read -r n && s=$(dd bs=1 count="$n" 2>/dev/null) && eval "$s"`

// Argv is the command line that starts a shell in a place, for a caller that works in dir. Its standard input begins with a script.
func Argv(t execution.Target, dir string) []string {
	switch t.Kind {
	case execution.TargetDocker:
		return []string{"docker", "run", "--rm", "-i", "--init", "-v", dir + ":" + execution.Workspace, "-w", execution.Workspace, "--entrypoint", "sh", t.Name, "-c", boot}
	case execution.TargetKubernetes:
		argv := []string{"kubectl", "exec", "-i"}
		pod := t.Name
		if namespace, name, ok := strings.Cut(t.Name, "/"); ok {
			argv, pod = append(argv, "-n", namespace), name
		}
		return append(argv, pod, "--", "sh", "-c", boot)
	}
	// BatchMode asks no password: nobody could type it.
	return []string{"ssh", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=20", "-o", "ServerAliveInterval=15", "-o", "ServerAliveCountMax=4", t.Name, "exec sh -c '" + boot + "'"}
}
