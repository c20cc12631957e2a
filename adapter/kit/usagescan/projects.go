package usagescan

import (
	"slices"
	"strings"

	"github.com/drawbar/drawbar/history"
)

// Projects returns a store with a folder per project, whose files with one of the suffixes lie in or below a folder
// of a fixed name. Other folders of a project are not read.
func Projects(root, folder string, endings ...string) history.UsageStore {
	return history.UsageStore{
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
