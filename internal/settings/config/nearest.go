package config

import "github.com/drawbar/drawbar/internal/base/near"

// Nearest is the known key that a wrong one probably means, empty when none is near.
func Nearest(key string) string {
	return near.Word(key, append([]string{"model", "agent", "price", "modelId"}, keys()...))
}
