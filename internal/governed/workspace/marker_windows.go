package workspace

// isNotDir recognizes a path whose folder has become a file: Windows says that it does not exist.
func isNotDir(error) bool { return false }
