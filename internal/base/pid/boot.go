//go:build !darwin

package pid

import (
	"os"
	"strings"
)

// Boot identifies the current boot of this machine. It is empty if the system does not tell.
func Boot() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}
