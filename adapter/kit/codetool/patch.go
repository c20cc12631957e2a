package codetool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/modelapi"
	"github.com/drawbar/drawbar/execution"
)

type patchInput struct {
	Patch string `json:"patch" jsonschema:"the diff: --- a/FILE, +++ b/FILE, and hunks that begin with @@"`
}

// patch is the tool that applies a unified diff.
func (f *Folder) patch() modelapi.Tool {
	return modelapi.Define("patch", "Apply a unified diff of one or more files: all of it, or nothing. /dev/null stands for a file that is created or deleted. "+
		"Hunks are found by their lines; line numbers may be off.",
		func(in patchInput) (modelapi.Job, error) {
			parts, err := parsePatch(in.Patch)
			if err != nil {
				return modelapi.Job{}, err
			}
			places := make([]place, len(parts))
			var shown []string
			for i, p := range parts {
				if places[i], err = f.find(p.path); err != nil {
					return modelapi.Job{}, err
				}
				if slices.Contains(shown, places[i].shown) {
					return modelapi.Job{}, fmt.Errorf("the patch has %s twice: join its hunks", places[i].shown)
				}
				shown = append(shown, places[i].shown)
			}
			return modelapi.Job{Ask: changing, Detail: strings.Join(shown, ", "), Risk: execution.RiskMedium, Use: edits(shown...), Do: func(context.Context, *modelapi.Live) modelapi.Answer {
				changes := make([]change, len(parts))
				for i, p := range parts {
					if changes[i], err = f.apply(p, places[i]); err != nil {
						return modelapi.Failed(err)
					}
				}
				if err := f.storeAll(changes); err != nil {
					return modelapi.Failed(err)
				}
				a := modelapi.Answer{Text: "patched " + strings.Join(shown, ", ")}
				for _, c := range changes {
					a.Files = append(a.Files, c.event(false))
				}
				return a
			}}, nil
		})
}

// filePatch is the hunks of one file.
type filePatch struct {
	path             string
	creates, deletes bool
	hunks            []hunk
}

// hunk is one place of a patch. A line begins with ' ', '-' or '+'.
type hunk struct {
	at    int // line of the old file, from 1
	lines []string
	bare  bool // the last line of the new file has no newline
}

const nothing = "/dev/null"

// parsePatch reads a unified diff. Text between files is skipped.
func parsePatch(text string) (parts []filePatch, err error) {
	list := strings.Split(strings.ReplaceAll(strings.TrimRight(text, "\n"), "\r\n", "\n"), "\n")
	for i := 0; i < len(list); {
		switch line := list[i]; {
		case fileHeader(list, i):
			p, err := newPatch(list[i], list[i+1])
			if err != nil {
				return nil, err
			}
			parts = append(parts, p)
			i += 2
		case strings.HasPrefix(line, "@@"):
			if len(parts) == 0 {
				return nil, fmt.Errorf("line %d of the patch: a hunk without --- and +++ before it", i+1)
			}
			h, next, err := parseHunk(list, i)
			if err != nil {
				return nil, err
			}
			last := &parts[len(parts)-1]
			last.hunks, i = append(last.hunks, h), next
		case strings.HasPrefix(line, "rename from "), strings.HasPrefix(line, "copy from "), strings.HasPrefix(line, "GIT binary patch"):
			return nil, fmt.Errorf("line %d of the patch: %.30q is not supported: use shell", i+1, line)
		default:
			i++
		}
	}
	if len(parts) == 0 {
		return nil, errors.New("the patch has no file: it needs --- a/FILE and +++ b/FILE")
	}
	for _, p := range parts {
		if len(p.hunks) == 0 && !p.deletes {
			return nil, fmt.Errorf("the patch has no hunk for %s: a hunk begins with @@ -LINE,COUNT +LINE,COUNT @@", p.path)
		}
	}
	return parts, nil
}

func fileHeader(list []string, i int) bool {
	return strings.HasPrefix(list[i], "--- ") && i+1 < len(list) && strings.HasPrefix(list[i+1], "+++ ")
}

func newPatch(from, to string) (p filePatch, err error) {
	name := func(line, prefix string) string {
		name, _, _ := strings.Cut(line[4:], "\t")
		if name = strings.TrimSpace(name); name != nothing {
			name = strings.TrimPrefix(name, prefix)
		}
		return name
	}
	old, now := name(from, "a/"), name(to, "b/")
	switch {
	case old == nothing && now == nothing:
		return p, errors.New("the patch turns nothing into nothing")
	case old == nothing:
		return filePatch{path: now, creates: true}, nil
	case now == nothing:
		return filePatch{path: old, deletes: true}, nil
	case old != now:
		return p, fmt.Errorf("the patch renames %s to %s: use shell for that", old, now)
	}
	return filePatch{path: now}, nil
}

// parseHunk reads the hunk at line i and returns the line after it.
func parseHunk(list []string, i int) (h hunk, next int, err error) {
	head, _, ok := strings.Cut(strings.TrimPrefix(list[i], "@@"), "@@")
	var olds, news int
	if fields := strings.Fields(head); ok && len(fields) == 2 {
		h.at, olds, err = span(fields[0], "-")
		if err == nil {
			_, news, err = span(fields[1], "+")
		}
	} else if strings.TrimSpace(strings.Trim(list[i], "@")) != "" {
		err = errors.New("no line numbers")
	}
	if err != nil {
		return h, 0, fmt.Errorf("line %d of the patch: %.60q is not the beginning of a hunk: @@ -LINE,COUNT +LINE,COUNT @@", i+1, list[i])
	}
	for next = i + 1; next < len(list); next++ {
		line := list[next]
		ended := olds <= 0 && news <= 0 // a removed line may look like the header of a file
		switch {
		case strings.HasPrefix(line, "@@"), strings.HasPrefix(line, "diff --git "), ended && fileHeader(list, next):
			return h, next, h.check(i)
		case line == `\ No newline at end of file`:
			if n := len(h.lines); n > 0 && h.lines[n-1][0] != '-' {
				h.bare = true
			}
			continue
		case line == "":
			line = " " // editors cut spaces at the end of lines
		case line[0] != ' ' && line[0] != '-' && line[0] != '+':
			return h, 0, fmt.Errorf("line %d of the patch: a line of a hunk begins with a space, - or +, not %.1q", next+1, line)
		}
		if line[0] != '+' {
			olds--
		}
		if line[0] != '-' {
			news--
		}
		h.lines = append(h.lines, line)
	}
	return h, next, h.check(i)
}

func (h hunk) check(i int) error {
	if !slices.ContainsFunc(h.lines, func(l string) bool { return l[0] != ' ' }) {
		return fmt.Errorf("line %d of the patch: the hunk changes nothing", i+1)
	}
	return nil
}

// span reads -LINE,COUNT; a missing count is 1.
func span(word, sign string) (line, count int, err error) {
	word, ok := strings.CutPrefix(word, sign)
	at, n, counted := strings.Cut(word, ",")
	line, err = strconv.Atoi(at)
	count = 1
	if counted && err == nil {
		count, err = strconv.Atoi(n)
	}
	if !ok || err == nil && (line < 0 || count < 0) {
		err = errors.New("not a number of lines")
	}
	return line, count, err
}

// apply computes what a patch makes of a file.
func (f *Folder) apply(p filePatch, at place) (change, error) {
	c, err := f.change(at, false)
	switch {
	case err != nil:
		return c, err
	case p.creates && c.info != nil:
		return c, fmt.Errorf("%s exists, and the patch creates it", at.shown)
	case !p.creates && c.info == nil:
		return c, fmt.Errorf("%s does not exist", at.shown)
	}
	c.new, err = patched(c.old, p.hunks, at.shown)
	c.remove = p.deletes
	if err == nil && c.remove && len(p.hunks) > 0 && len(bytes.TrimSpace(c.new)) > 0 {
		err = fmt.Errorf("%s has more than the patch deletes: read it again", at.shown)
	}
	return c, err
}

// patched applies hunks in order.
func patched(content []byte, hunks []hunk, shown string) ([]byte, error) {
	ending := "\n"
	if crlf(content) {
		ending = "\r\n"
	}
	var have []string // the lines with their endings
	for line := range strings.Lines(string(content)) {
		have = append(have, line)
	}
	from, shift := 0, 0 // the first line that no hunk used, and how far the lines have moved
	for i, h := range hunks {
		var old []string
		for _, l := range h.lines {
			if l[0] != '+' {
				old = append(old, l[1:])
			}
		}
		at, err := locate(have, old, from, h.at-1+shift)
		if err != nil {
			return nil, fmt.Errorf("hunk %d of %s %w", i+1, shown, err)
		}
		var put []string
		next := at
		for _, l := range h.lines {
			switch l[0] {
			case ' ':
				put = append(put, have[next])
				next++
			case '-':
				next++
			default:
				put = append(put, l[1:]+ending)
			}
		}
		if n := len(put); n > 0 && h.bare && next == len(have) {
			put[n-1] = strings.TrimRight(put[n-1], "\r\n")
		}
		have = slices.Replace(have, at, next, put...)
		from, shift = at+len(put), shift+len(put)-(next-at)
	}
	for i := range have {
		if i < len(have)-1 && !strings.HasSuffix(have[i], "\n") {
			have[i] += ending // the last line of before is none any more
		}
	}
	return []byte(strings.Join(have, "")), nil
}

// locate returns where lines are: at the expected index, or at the only other one.
func locate(have, want []string, from, expected int) (int, error) {
	if len(want) == 0 { // only additions: after the line that the hunk names
		return min(max(expected+1, from), len(have)), nil
	}
	fits := func(at int) bool {
		if at < from || at+len(want) > len(have) {
			return false
		}
		for i, w := range want {
			if strings.TrimRight(have[at+i], "\r\n") != strings.TrimRight(w, "\r") {
				return false
			}
		}
		return true
	}
	if fits(expected) {
		return expected, nil
	}
	found := -1
	for at := from; at+len(want) <= len(have); at++ {
		if !fits(at) {
			continue
		}
		if found >= 0 {
			return 0, fmt.Errorf("fits at lines %d and %d: add lines around it", found+1, at+1)
		}
		found = at
	}
	if found < 0 {
		return 0, fmt.Errorf("does not fit: the file has no such lines as %q", strings.Join(want[:min(len(want), 3)], "\n"))
	}
	return found, nil
}
