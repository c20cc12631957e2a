//go:build !unix

package workspace

// stampOf gives up where the time of a file's last change of anything is not at hand: git is asked each time.
func stampOf(string) (fileStamp, bool) { return fileStamp{}, false }

// ownFolder does not know a folder's owner: git is asked.
func ownFolder(string) (device uint64, ok bool) { return 0, false }
