package conformance

import (
	"embed"
	"io/fs"
)

//go:embed suite
var suite embed.FS

// Suite returns the fixtures that come with Drawbar. They complement those of the public suite.
func Suite() ([]Fixture, error) {
	sub, err := fs.Sub(suite, "suite")
	if err != nil {
		return nil, err
	}
	return Load(sub)
}
