package plan

import "io/fs"

func executable(fs.FileInfo) bool { return true }
