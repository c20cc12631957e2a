// Package repofile reads files that came with a repository, or that a person named: regular files within a folder, up to a
// bound, never one that blocks or never ends. It judges no content, and its errors quote none.
package repofile
