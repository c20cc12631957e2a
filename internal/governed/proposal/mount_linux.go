package proposal

import (
	"os"

	"golang.org/x/sys/unix"
)

type mount struct{ major, minor, id uint64 }

// mountOf identifies what a file can be moved within: two mounts of one device are two, statx(2). Before Linux 5.8 the
// device has to do.
func mountOf(f *os.File) (mount, error) {
	var st unix.Statx_t
	if err := unix.Statx(int(f.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_MNT_ID, &st); err != nil {
		return mount{}, &os.PathError{Op: "statx", Path: f.Name(), Err: err}
	}
	return mount{uint64(st.Dev_major), uint64(st.Dev_minor), st.Mnt_id}, nil
}
