package project

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"os"
	"path"
	"slices"
)

// tempMark begins the names of files that are being written.
const tempMark = ".tmp-"

// replaceIn writes a file under a temporary name beside it and renames it: a reader sees the old one or the new one.
func replaceIn(r *os.Root, name string, data []byte) error {
	temp := path.Join(path.Dir(name), tempMark+rand.Text()[:12])
	f, err := r.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = r.Rename(temp, name)
	}
	if err != nil {
		_ = r.Remove(temp)
	}
	return err
}

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
