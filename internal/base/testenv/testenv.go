// Package testenv arranges how the tests of a package run.
package testenv

import (
	"flag"
	"os"
	"strconv"
)

// Setup gives the tests of this process a folder for temporary files in memory, where the system has a large one: tests make and remove
// tens of thousands of small files. TMPDIR, where it is set, wins. TestMain calls it before it runs the tests.
//
// parallel is how many tests run at once; 0 leaves it at the number of processors. Tests that wait more than they compute can be many.
// The flag -parallel wins.
func Setup(parallel int) {
	if dir := memory(); dir != "" && os.Getenv("TMPDIR") == "" {
		_ = os.Setenv("TMPDIR", dir) // without it, tests are slower
	}
	if parallel > 0 {
		if err := flag.Set("test.parallel", strconv.Itoa(parallel)); err != nil {
			panic(err)
		}
	}
}
