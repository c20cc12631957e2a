// Package testenv prepares the environment of a package's tests.
package testenv

import (
	"flag"
	"os"
	"path/filepath"
	"strconv"
)

// Setup gives the tests of this process a folder for temporary files in memory, if the system has a large one: tests
// create and remove tens of thousands of small files. TMPDIR takes precedence. TestMain calls it before it runs the
// tests.
//
// parallel is the number of concurrent tests; 0 means the number of processors. Tests that mostly wait can be many.
// The flag -parallel takes precedence.
func Setup(parallel int) {
	if dir := memory(); dir != "" && os.Getenv("TMPDIR") == "" {
		_ = os.Setenv("TMPDIR", dir) // otherwise tests are slower
	}
	if parallel > 0 {
		if err := flag.Set("test.parallel", strconv.Itoa(parallel)); err != nil {
			panic(err)
		}
	}
}

// Self returns the program that plays another one in tests: this test binary, or the one of the same name in the directory
// DRAWBAR_TEST_STANDINS. One without the race detector starts in a quarter of the time.
func Self() (string, error) {
	self, err := os.Executable()
	if dir := os.Getenv("DRAWBAR_TEST_STANDINS"); err == nil && dir != "" {
		other := filepath.Join(dir, filepath.Base(self))
		if _, err := os.Stat(other); err == nil {
			return other, nil
		}
	}
	return self, err
}
