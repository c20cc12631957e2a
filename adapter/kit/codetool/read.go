package codetool

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/modelapi"
	"github.com/drawbar/drawbar/execution"
)

// What one call of read returns at most.
const (
	readLines = 2000
	readBytes = 64 << 10
	readLine  = 2000 // bytes of a line
)

type readInput struct {
	Path   string `json:"path" jsonschema:"file, relative to the working directory"`
	Offset int    `json:"offset,omitempty" jsonschema:"first line (default 1)"`
	Limit  int    `json:"limit,omitempty" jsonschema:"number of lines (default and maximum 2000)"`
}

// read is the tool that reads a file.
func (f *Folder) read() modelapi.Tool {
	return modelapi.Define("read", "Read a text file, or view an image (PNG, JPEG, GIF, WebP). Lines are numbered from 1; the number and a tab precede each line and are not part of it.",
		func(in readInput) (modelapi.Job, error) {
			p, err := f.find(in.Path)
			switch {
			case err != nil:
				return modelapi.Job{}, err
			case in.Offset < 0 || in.Limit < 0:
				return modelapi.Job{}, errors.New("offset and limit must not be negative")
			}
			return modelapi.Job{Use: reads(p.path()), Do: func(context.Context, *modelapi.Live) modelapi.Answer {
				a := f.readFile(p, max(in.Offset, 1), in.Limit)
				if a.Error == "" {
					a.Files = []execution.Body{execution.FileRead{Path: p.path()}}
				}
				return a
			}}, nil
		})
}

// readFile reads lines of a text file, or an image.
func (f *Folder) readFile(p place, from, limit int) modelapi.Answer {
	if limit == 0 || limit > readLines {
		limit = readLines
	}
	file, info, err := p.open()
	if err != nil {
		return modelapi.Failed(err)
	}
	defer func() { _ = file.Close() }() // opened read-only
	var source io.Reader = file
	if info.Size() <= maxFile {
		data, _, err := p.content()
		if err != nil {
			return modelapi.Failed(err)
		}
		f.know(p, data)
		if image, ok := modelapi.NewImage(p.shown, data); ok && binary(data) {
			text := fmt.Sprintf("[%s is an image, %s, %d bytes]", p.shown, image.MediaType, len(data))
			return modelapi.Answer{Text: text, Images: []modelapi.Part{image}}
		}
		source = bytes.NewReader(data)
	}
	return answer(numbered(source, p, info.Size(), from, limit))
}

// numbered returns lines of a text with their numbers.
func numbered(source io.Reader, p place, size int64, from, limit int) (string, error) {
	r := bufio.NewReaderSize(source, 64<<10)
	if begin, _ := r.Peek(8000); binary(begin) {
		return "", fmt.Errorf("%s is a binary file of %d bytes", p.shown, size)
	}
	var b strings.Builder
	n := 0
	for {
		line, cut, err := nextLine(r)
		if err != nil && !errors.Is(err, io.EOF) {
			return "", p.fault(err)
		}
		if err != nil && line == "" {
			break
		}
		if n++; n >= from {
			if n >= from+limit || b.Len() >= readBytes {
				fmt.Fprintf(&b, "[more follows: continue with offset %d]\n", n)
				break
			}
			fmt.Fprintf(&b, "%d\t%s", n, strings.ToValidUTF8(line, "\uFFFD"))
			if cut > 0 {
				fmt.Fprintf(&b, " [%d more bytes]", cut)
			}
			b.WriteByte('\n')
		}
		if err != nil {
			break
		}
	}
	switch {
	case n == 0:
		return "[the file is empty]", nil
	case n < from:
		return "", fmt.Errorf("%s has %d lines, and the offset is %d", p.shown, n, from)
	}
	return b.String(), nil
}

// nextLine reads a line without its ending, and returns how many bytes of a long one were left out.
func nextLine(r *bufio.Reader) (line string, cut int, err error) {
	var b []byte
	for {
		var piece []byte
		piece, err = r.ReadSlice('\n')
		keep := piece[:min(len(piece), max(0, readLine+2-len(b)))] // with the line's ending
		b, cut = append(b, keep...), cut+len(piece)-len(keep)
		if !errors.Is(err, bufio.ErrBufferFull) {
			break
		}
	}
	if len(b) == 0 {
		return "", 0, err
	}
	if cut == 0 {
		line = strings.TrimSuffix(strings.TrimSuffix(string(b), "\n"), "\r")
		if line == "" { // an empty line is not the end of the file
			return "", 0, nil
		}
		return line, 0, err
	}
	return string(b), cut, err
}
