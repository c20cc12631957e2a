package cassette

import (
	"errors"
	"fmt"

	"github.com/drawbar/drawbar/internal/base/linefile"
)

// Writer appends exchanges to a file. It is safe for concurrent use.
type Writer struct{ *linefile.Writer }

// ErrExists reports a file in which something is recorded.
var ErrExists = errors.New("the file exists")

// Create creates a file of mode 0600. With add, an existing cassette is continued, once all of it was read without a fault;
// without, an existing file is ErrExists, unless nothing is recorded in it.
func Create(path string, add bool) (*Writer, error) {
	var there []Exchange
	w, err := format.Open(path, collect(&there))
	var fault *linefile.LineError
	switch {
	case !add && (len(there) > 0 || errors.As(err, &fault)):
		if w != nil {
			err = w.Close()
		}
		return nil, errors.Join(ErrExists, err)
	case err != nil:
		return nil, err
	}
	return &Writer{w}, nil
}

// Add appends an exchange as one line.
func (w *Writer) Add(x Exchange) error {
	line, err := linefile.Line(x)
	if err != nil {
		return fmt.Errorf("encode an exchange: %w", err)
	}
	return w.Append(line)
}
