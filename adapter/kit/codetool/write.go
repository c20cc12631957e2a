package codetool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/modelapi"
	"github.com/drawbar/drawbar/execution"
)

// changing is the action that a person is asked to permit.
const changing = "change files"

type writeInput struct {
	Path    string `json:"path" jsonschema:"file, relative to the working directory"`
	Content string `json:"content" jsonschema:"the whole content"`
}

// write is the tool that writes a whole file.
func (f *Folder) write() modelapi.Tool {
	return modelapi.Define("write", "Write a whole file, and the folders above it. A file that exists must have been read before; use edit for a part of it.",
		func(in writeInput) (modelapi.Job, error) {
			p, err := f.find(in.Path)
			return f.job(p.shown, func() (change, error) {
				c, err := f.change(p, true)
				c.new = inStyle(c.old, []byte(in.Content))
				return c, err
			}, func(c change) string {
				if c.info == nil {
					return fmt.Sprintf("created %s (%d bytes)", c.shown, len(c.new))
				}
				return fmt.Sprintf("wrote %s (%d bytes)", c.shown, len(c.new))
			}, true), err
		})
}

type editInput struct {
	Path string `json:"path" jsonschema:"file, relative to the working directory"`
	Old  string `json:"old" jsonschema:"text to replace, as it is in the file, without line numbers"`
	New  string `json:"new" jsonschema:"text to put in its place"`
	All  bool   `json:"all,omitempty" jsonschema:"replace every occurrence"`
}

// edit is the tool that replaces a text in a file.
func (f *Folder) edit() modelapi.Tool {
	return modelapi.Define("edit", "Replace a text in a file. The old text must occur exactly once, with its indentation; with all, every occurrence is replaced.",
		func(in editInput) (modelapi.Job, error) {
			p, err := f.find(in.Path)
			switch {
			case err != nil:
			case in.Old == "":
				err = errors.New("the old text is empty: use write for a new file")
			case in.Old == in.New:
				err = errors.New("the old and the new text are the same")
			}
			n := 0
			return f.job(p.shown, func() (c change, err error) {
				if c, err = f.change(p, false); err != nil {
					return c, err
				}
				if c.info == nil {
					return c, fmt.Errorf("%s does not exist", p.shown)
				}
				c.new, n, err = replace(c.old, in, p.shown)
				return c, err
			}, func(c change) string {
				return fmt.Sprintf("edited %s: %d replaced", c.shown, n)
			}, false), err
		})
}

// job is a change of one file. make computes it, before and after a person permits it.
func (f *Folder) job(shown string, build func() (change, error), said func(change) string, whole bool) modelapi.Job {
	return modelapi.Job{Ask: changing, Detail: shown, Risk: execution.RiskMedium, Use: edits(shown), Do: func(context.Context, *modelapi.Live) modelapi.Answer {
		c, err := build()
		if err == nil {
			err = f.store(c)
		}
		if err != nil {
			return modelapi.Failed(err)
		}
		return modelapi.Answer{Text: said(c), Files: []execution.Body{c.event(whole)}}
	}}
}

// replace returns content with the replacement, and how often it was made.
func replace(content []byte, in editInput, shown string) ([]byte, int, error) {
	old, put := []byte(in.Old), []byte(in.New)
	if crlf(content) {
		old, put = toCRLF(old), toCRLF(put)
	}
	switch n := bytes.Count(content, old); {
	case n == 0:
		return nil, 0, fmt.Errorf("the old text does not occur in %s: read the file again, and copy the text with its indentation", shown)
	case n > 1 && !in.All:
		return nil, 0, fmt.Errorf("the old text occurs %d times in %s (lines %s): add lines around it, or set all", n, shown, lines(content, old))
	case in.All:
		return bytes.ReplaceAll(content, old, put), n, nil
	}
	return bytes.Replace(content, old, put, 1), 1, nil
}

// lines lists the lines of the first occurrences of a text.
func lines(content, part []byte) string {
	var list []string
	for at := 0; len(list) < 5; {
		i := bytes.Index(content[at:], part)
		if i < 0 {
			break
		}
		list = append(list, strconv.Itoa(1+bytes.Count(content[:at+i], []byte("\n"))))
		at += i + len(part)
	}
	return strings.Join(list, ", ")
}
