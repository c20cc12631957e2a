package turnruntime

// LookPath finds a program the way a runtime's command is found: a path from dir, or a name on the PATH of env.
func LookPath(name string, env []string, dir string) (string, error) {
	return find(name, env, dir, dir)
}
