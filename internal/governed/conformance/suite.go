package conformance

import (
	"embed"
	"io/fs"
)

//go:embed suite
var suite embed.FS

// Suite are the fixtures that come with Drawbar. They are not those of the public suite: they try what those leave out.
func Suite() ([]Fixture, error) {
	sub, err := fs.Sub(suite, "suite")
	if err != nil {
		return nil, err
	}
	return Load(sub)
}
