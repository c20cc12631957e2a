package ledger

import (
	"fmt"
	"path"
	"slices"

	"github.com/drawbar/drawbar/govern/protocol"
)

// archive compares the archived files of a turn with what a transaction archived.
func (c *verifier) archive(e entry) error {
	turn := path.Base(e.File)
	b := Break{File: e.File, Seq: e.Seq}
	have, err := c.beneath.under(e.File)
	if err != nil {
		return err
	}
	for _, from := range []string{protocol.BundleDir(turn), path.Dir(protocol.StagedFile(turn)), flatStaged} {
		if c.v.Pending != "" && c.beneath.has(from) {
			return nil // the interrupted transaction moves them
		}
	}
	if len(have) == 0 && len(e.Files) > 0 {
		b.Kind, b.Message = "missing", "the archived files of turn "+turn+" are missing"
		c.broken(b)
		return nil
	}
	for _, want := range e.Files {
		b.File = e.File + "/" + want.File
		if !slices.Contains(have, want.File) {
			b.Kind, b.Message = "missing", "the archived file is missing"
			c.broken(b)
			return nil
		}
		got, err := c.beneath.span(b.File, want.File)
		if err != nil {
			return err
		}
		if got != want {
			b.Kind, b.Message = "edited", "it differs from what was archived when turn "+turn+" was decided"
			c.broken(b)
			return nil
		}
	}
	for _, name := range have {
		if !slices.ContainsFunc(e.Files, func(s span) bool { return s.File == name }) {
			b.File, b.Kind, b.Message = e.File+"/"+name, "inserted", "it was not archived with turn "+turn
			c.broken(b)
			return nil
		}
	}
	return nil
}

// beside compares the files that are covered as a whole with the last entry about each, and reports a hook audit that
// has grown since.
func (c *verifier) beside() error {
	for _, file := range whole() {
		want, ok := c.whole[file]
		if !ok {
			continue
		}
		data, err := c.beneath.read(file)
		if err != nil {
			return err
		}
		if file == protocol.SessionFile && c.v.session != nil {
			data = c.v.session
		}
		if marker(data) == want || c.v.Pending != "" && file == protocol.TalkFile {
			continue
		}
		b := Break{Kind: "edited", File: file, Seq: c.seq - 1, Message: "it differs from what the last transaction wrote; the next one accepts it as it is, and the finding remains"}
		if data == nil {
			b.Kind, b.Message = "missing", "the file is missing; the next transaction writes it again"
		}
		c.broken(b)
		return nil
	}
	const audit = protocol.HookAuditFile
	f, err := c.file(audit)
	if err != nil {
		return err
	}
	if end := c.v.length(audit); end > f.pos {
		_, lines, err := digest(f.r, end-f.pos)
		if err != nil {
			return failed("read", c.v.path(audit), err)
		}
		c.report.Uncovered = append(c.report.Uncovered, Adopted{File: audit, Line: f.lines + 1, Lines: lines})
	}
	return nil
}

// cutChain reports whether the chain ends before the state that state.json and its copy hold: both are newer.
func (c *verifier) cutChain() bool {
	if c.state == "" || c.state == c.v.seenMark || c.v.Pending != "" {
		return false
	}
	saved, err := c.beneath.read(stateCopy)
	if err != nil || marker(saved) != c.v.seenMark || c.v.seenMark == "" {
		return false
	}
	c.broken(Break{Kind: "cut", File: protocol.ChainFile, Line: c.report.Entries + 1, Seq: c.seq,
		Message: fmt.Sprintf("the chain was truncated: it ends after %d entries, but state.json and its copy are newer; restore it from a backup before any other command", c.report.Entries)})
	return true
}
