package project

import (
	"cmp"
	"encoding/json"
	"slices"
)

// attemptOf is the attempt that an assignment is for; 0 when it does not say.
func attemptOf(assignment []byte) int {
	var a struct {
		Attempt int `json:"attempt"`
	}
	if json.Unmarshal(assignment, &a) != nil {
		return 0
	}
	return max(0, a.Attempt)
}

func sortedNames(files map[string][]byte) []string {
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.SortFunc(names, compareNames)
	return names
}

// compareNames orders as the manifest does: by bytes.
func compareNames(a, b string) int { return cmp.Compare(a, b) }
