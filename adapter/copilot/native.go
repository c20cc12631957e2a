package copilot

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// loader is the script that npm installs as the command. It starts the native program and waits: a signal ends the
// script within a millisecond and leaves the program and its tools running, and a native program that a signal ended
// becomes "no platform package found".
const loader = "npm-loader.js"

// native returns the native program that the npm command would start, or the command itself if none is found.
func native(found string) string { return nativeFor(found, runtime.GOOS, runtime.GOARCH) }

func nativeFor(found, goos, goarch string) string {
	packages := loaderDir(found, goos)
	if packages == "" {
		return found
	}
	platforms, program := []string{goos}, "copilot"
	switch goos {
	case "linux":
		platforms = []string{"linux", "linuxmusl"}
	case "windows":
		platforms, program = []string{"win32"}, "copilot.exe"
	}
	arch := goarch
	if arch == "amd64" {
		arch = "x64"
	}
	var candidates []string
	for _, platform := range platforms {
		base := "copilot-" + platform + "-" + arch
		for _, dir := range []string{filepath.Join(filepath.Dir(packages), base), filepath.Join(packages, "node_modules", "@github", base)} {
			if path := filepath.Join(dir, program); executable(path, goos) {
				candidates = append(candidates, path)
				break
			}
		}
	}
	if len(candidates) != 1 {
		return found // none, or one for each C library: the loader chooses
	}
	return candidates[0]
}

// loaderDir returns the folder of the npm package of a command, empty if it is not npm's.
func loaderDir(found, goos string) string {
	if goos == "windows" {
		// npm writes a small batch file there, next to the packages or in their .bin folder.
		if ext := strings.ToLower(filepath.Ext(found)); ext != ".cmd" && ext != ".ps1" && ext != "" {
			return ""
		}
		for _, dir := range []string{filepath.Join(filepath.Dir(found), "node_modules"), filepath.Dir(filepath.Dir(found))} {
			packages := filepath.Join(dir, "@github", "copilot")
			if _, err := os.Stat(filepath.Join(packages, loader)); err == nil {
				return packages
			}
		}
		return ""
	}
	real, err := filepath.EvalSymlinks(found)
	if err != nil || filepath.Base(real) != loader {
		return ""
	}
	return filepath.Dir(real)
}

func executable(path, goos string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && (goos == "windows" || info.Mode().Perm()&0o111 != 0)
}
