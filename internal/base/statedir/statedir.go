// Package statedir is where Drawbar keeps what it records: runs, and the conversations that it holds itself. It touches no file.
package statedir

import (
	"errors"
	"path/filepath"
)

// Variable is the environment variable that sets the directory.
const Variable = "DRAWBAR_STATE_DIR"

// In returns the state directory on a platform: DRAWBAR_STATE_DIR, or drawbar in XDG_STATE_HOME, or the platform's default:
// ~/.local/state/drawbar, on macOS ~/Library/Application Support/drawbar, on Windows %LocalAppData%\drawbar. A relative
// DRAWBAR_STATE_DIR is an error; other variables with a relative path are ignored.
func In(goos string, getenv func(string) string, home func() (string, error)) (string, error) {
	if dir := getenv(Variable); dir != "" {
		if !filepath.IsAbs(dir) {
			return "", errors.New("DRAWBAR_STATE_DIR is " + dir + ", a relative path; set it to an absolute one")
		}
		return filepath.Clean(dir), nil
	}
	if dir := getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "drawbar"), nil
	}
	if goos == "windows" {
		if dir := getenv("LOCALAPPDATA"); filepath.IsAbs(dir) {
			return filepath.Join(dir, "drawbar"), nil
		}
	}
	h, err := home()
	if err != nil || !filepath.IsAbs(h) {
		return "", errors.New("no home directory, so nothing can be recorded; set HOME or DRAWBAR_STATE_DIR")
	}
	switch goos {
	case "windows":
		return filepath.Join(h, "AppData", "Local", "drawbar"), nil
	case "darwin", "ios":
		return filepath.Join(h, "Library", "Application Support", "drawbar"), nil
	}
	return filepath.Join(h, ".local", "state", "drawbar"), nil
}
