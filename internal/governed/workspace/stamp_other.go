//go:build !unix

package workspace

// stampOf always fails, because this system does not provide a file's change time: git is asked each time.
func stampOf(string) (fileStamp, bool) { return fileStamp{}, false }

// ownFolder always fails, because this system does not provide a folder's owner: git is asked.
func ownFolder(string) (device uint64, ok bool) { return 0, false }
