//go:build !unix

package lookpath

import (
	"fmt"
	"io/fs"
	"os"
)

func executable(file string) error {
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return fmt.Errorf("%s is a directory: %w", file, fs.ErrNotExist)
	}
	return nil
}
