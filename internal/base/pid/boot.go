//go:build !darwin

package pid

import (
	"bytes"
	"os"
)

// Boot identifies the current boot of this machine. It is empty if the system does not tell.
func Boot() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(id))
}
