// Package repofile reads files of a repository, or files that a person named: regular files within a folder, up to a
// limit, and never one that blocks or is endless. It does not judge content, and its errors quote none.
package repofile
