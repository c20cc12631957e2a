package configstore

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

func owned(fs.FileInfo) bool { return true }

func keepOwner(*os.File, fs.FileInfo) error { return nil }

func mayWrite(string) bool { return true }

func noSpace(err error) bool { return errors.Is(err, windows.ERROR_DISK_FULL) }
