package settings

// Unasked is a file of a project, or several, of which an agent runs something, or takes the address that it sends its key to, without
// asking its user, in a directory that it does not know. It is what the end-to-end suite measured of the agent's program.
type Unasked struct {
	// Path is relative to a directory of the project, with slashes. It may be a pattern, as of path.Match.
	Path string
	// Format is json, jsonc, toml, yaml, md for the front matter of a document, or env for lines NAME=value. A file without one is a
	// program as a whole.
	Format string
	// Keys are the keys, by their dotted path in the file, whose values count; of a file of variables patterns of names.
	Keys []string
	// Up says that the agent also reads it in the directories above, up to the root of the repository.
	Up bool
}
