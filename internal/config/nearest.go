package config

// Nearest is the known key that a wrong one probably means, empty when none is near.
func Nearest(key string) string {
	best, found := 30, ""
	for _, k := range append([]string{"model", "agent", "price", "modelId"}, keys()...) {
		// Of two that are as near the one of the same length is meant: letters are swapped more often than forgotten.
		if d := 10*distance(key, k) + max(len(k)-len(key), len(key)-len(k)); d < best {
			best, found = d, k
		}
	}
	return found
}

// distance counts the letters to add, drop or change, without regard to case.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	last := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			change := last[j]
			if lower(a[i]) != lower(b[j]) {
				change++
			}
			row[j+1] = min(change, last[j+1]+1, row[j]+1)
		}
		last = row
	}
	return last[len(b)]
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
