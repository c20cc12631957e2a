// Package near suggests corrections of mistyped words.
package near

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Words returns at most three things whose names are a typing mistake away from the word, or start with it, the
// nearest first. names maps names to things. A word much longer than every name has no suggestions.
func Words(asked string, names map[string]string) []string {
	if len(asked) > 100 {
		return nil
	}
	asked = strings.ToLower(strings.Join(strings.Fields(asked), "-"))
	if len(asked) < 2 {
		return nil
	}
	distances := map[string]int{}
	for candidate, name := range names {
		d := editDistance(asked, candidate)
		if strings.HasPrefix(candidate, asked) {
			d = min(d, 1)
		}
		if d > allowed(asked, candidate) {
			continue
		}
		if best, ok := distances[name]; !ok || d < best {
			distances[name] = d
		}
	}
	near := slices.SortedFunc(maps.Keys(distances), func(a, b string) int {
		return cmp.Or(cmp.Compare(distances[a], distances[b]), cmp.Compare(a, b))
	})
	return near[:min(len(near), 3)]
}

// Word returns the known word that a mistyped one probably means, case-insensitive; empty if none is near. Of equally
// near words one of the same length comes first, because letters are swapped more often than forgotten, then the
// earlier one.
func Word(asked string, known []string) string {
	if len(asked) < 2 || len(asked) > 100 {
		return ""
	}
	asked = strings.ToLower(asked)
	best, least := "", 0
	for _, word := range known {
		candidate := strings.ToLower(word)
		d := editDistance(asked, candidate)
		if d > allowed(asked, candidate) {
			continue
		}
		if d = 2 * d; len(candidate) != len(asked) {
			d++
		}
		if best == "" || d < least {
			best, least = word, d
		}
	}
	return best
}

// allowed returns how many letters may be wrong: a third; two of a short word, one of a very short one.
func allowed(a, b string) int {
	n := min(len(a), len(b))
	return max(n/3, min(2, n/2))
}

// editDistance counts the letters to add, drop, change or swap with their neighbour to turn a into b.
func editDistance(a, b string) int {
	s, t := []rune(a), []rune(b)
	var before []int
	last := make([]int, len(t)+1)
	for j := range last {
		last[j] = j
	}
	for i := range s {
		row := make([]int, len(t)+1)
		row[0] = i + 1
		for j := range t {
			change := last[j]
			if s[i] != t[j] {
				change++
			}
			row[j+1] = min(change, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && s[i] == t[j-1] && s[i-1] == t[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(t)]
}
