package usagescan

import (
	"slices"
	"strings"

	"github.com/drawbar/drawbar/adapter"
)

// Projects is a store with a folder for each project, in which the files with one of the endings lie in or below a folder of
// a fixed name. No other folder of a project is looked into.
func Projects(root, folder string, endings ...string) adapter.UsageStore {
	return adapter.UsageStore{
		Root: root,
		Match: func(rel string) bool {
			part := strings.Split(rel, "/")
			return len(part) >= 3 && part[1] == folder && slices.ContainsFunc(endings, func(e string) bool { return strings.HasSuffix(rel, e) })
		},
		Enter: func(rel string) bool {
			part := strings.Split(rel, "/")
			return len(part) < 2 || part[1] == folder
		},
	}
}
