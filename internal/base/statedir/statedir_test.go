package statedir

import (
	"errors"
	"runtime"
	"testing"
)

func TestIn(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the paths of this table are those of unix")
	}
	for _, c := range []struct {
		name, goos string
		env        map[string]string
		want       string
	}{
		{"linux", "linux", nil, "/home/u/.local/state/drawbar"},
		{"macOS", "darwin", nil, "/home/u/Library/Application Support/drawbar"},
		{"windows without variable", "windows", nil, "/home/u/AppData/Local/drawbar"},
		{"windows", "windows", map[string]string{"LOCALAPPDATA": "/local"}, "/local/drawbar"},
		{"xdg", "linux", map[string]string{"XDG_STATE_HOME": "/xdg"}, "/xdg/drawbar"},
		{"xdg relative is ignored", "linux", map[string]string{"XDG_STATE_HOME": "xdg"}, "/home/u/.local/state/drawbar"},
		{"xdg on macOS", "darwin", map[string]string{"XDG_STATE_HOME": "/xdg"}, "/xdg/drawbar"},
		{"override", "linux", map[string]string{"XDG_STATE_HOME": "/xdg", "DRAWBAR_STATE_DIR": "/mine/"}, "/mine"},
		{"relative override", "linux", map[string]string{"DRAWBAR_STATE_DIR": "mine"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := In(c.goos, func(k string) string { return c.env[k] }, func() (string, error) { return "/home/u", nil })
			if got != c.want || (err != nil) != (c.want == "") {
				t.Errorf("got %q, %v, want %q", got, err, c.want)
			}
		})
	}
	if _, err := In("linux", func(string) string { return "" }, func() (string, error) { return "", errors.New("none") }); err == nil {
		t.Error("no home: got no error")
	}
}
