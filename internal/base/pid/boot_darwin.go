package pid

import "golang.org/x/sys/unix"

// Boot identifies the current boot of this machine. It is empty if the system does not tell.
func Boot() string {
	id, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return ""
	}
	return id
}
