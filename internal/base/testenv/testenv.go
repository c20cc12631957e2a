// Package testenv prepares the environment of a package's tests.
package testenv

import (
	"flag"
	"os"
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
