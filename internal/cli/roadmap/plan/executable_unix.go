//go:build !windows

package plan

import "io/fs"

func executable(info fs.FileInfo) bool { return info.Mode()&0o111 != 0 }
