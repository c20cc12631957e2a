package pid

import "golang.org/x/sys/unix"

// Boot identifies this boot of this machine. It is empty where the system does not say.
func Boot() string {
	id, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return ""
	}
	return id
}
