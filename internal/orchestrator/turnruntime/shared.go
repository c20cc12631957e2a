package turnruntime

// SplitCommand splits a command line into words the way a runtime's command is split: at white space, with quotes and
// backslashes. No shell is asked.
func SplitCommand(line string) ([]string, error) { return splitWords(line) }

// LookPath finds a program the way a runtime's command is found: a path from dir, a name on the PATH of env.
func LookPath(name string, env []string, dir string) (string, error) {
	return find(name, env, dir, dir)
}
