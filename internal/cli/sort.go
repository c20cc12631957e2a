package cli

import (
	"strings"
)

// Words joins values with commas.
func Words[T ~string](list []T) string {
	parts := make([]string, len(list))
	for i, v := range list {
		parts[i] = string(v)
	}
	return strings.Join(parts, ", ")
}
