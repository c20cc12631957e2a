package pid

import (
	"os"
	"strings"
)

// Boot identifies this boot of this machine. It is empty where the system does not say.
func Boot() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}
