package config

import "github.com/drawbar/drawbar/internal/base/near"

// Nearest returns the known key that a wrong one probably means, empty if none is similar.
func Nearest(key string) string {
	return near.Word(key, append([]string{"model", "agent", "price", "modelId"}, keys()...))
}
