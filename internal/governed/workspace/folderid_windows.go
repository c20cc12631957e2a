package workspace

import (
	"fmt"
	"syscall"
)

// folderID is the file system's identity of a folder; it survives a rename, and a copy has another.
func folderID(path string) string {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return noFile
	}
	h, err := syscall.CreateFile(name, 0, syscall.FILE_SHARE_READ|syscall.FILE_SHARE_WRITE|syscall.FILE_SHARE_DELETE, nil,
		syscall.OPEN_EXISTING, syscall.FILE_FLAG_BACKUP_SEMANTICS, 0)
	if err != nil {
		return noFile
	}
	defer func() { _ = syscall.CloseHandle(h) }() // nothing was written through it
	var d syscall.ByHandleFileInformation
	if err := syscall.GetFileInformationByHandle(h, &d); err != nil {
		return "unknown"
	}
	return fmt.Sprintf("device %d, file %d", d.VolumeSerialNumber, uint64(d.FileIndexHigh)<<32|uint64(d.FileIndexLow))
}
