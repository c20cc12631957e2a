package sessionfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/history"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

const (
	smallFile = 256 << 10 // a file up to this size is read whole for its summary
	headStep  = 64 << 10
	headMost  = 1 << 20
	tailStep  = 64 << 10
	tailMost  = 1 << 20
)

// Format describes an agent's store.
type Format struct {
	Agent string

	// Mount returns the host on which Roots are directories; nil if they are. Sessions are then read whole: their
	// size is unknown before.
	Mount func(adapter.Host) adapter.Host
	// Roots returns the directories of the store.
	Roots func(adapter.Host) []string
	// List walks the store and adds its sessions.
	List func(*Lister)
	// Decode returns the decoder of a file whose messages go to c.
	Decode func(b *Builder, c *Conversation) Decoder
	// Describe adds information from other files; it may be nil.
	Describe func(b *Builder)
	// Subagent describes the sub-agent in one of a file's Parts.
	Subagent func(h adapter.Host, path string) history.Subagent
	// Before returns files whose content precedes the session's own; it may be nil.
	Before func(h adapter.Host, f history.File) []string
	// Unpack decompresses a file by its name; nil if the agent compresses nothing.
	Unpack func(path string, r io.ReadCloser) (io.ReadCloser, error)
	// Whole reports whether a file is one JSON document, which the decoder gets as one line.
	Whole func(path string) bool
}

// Decoder reads the records of one file in order.
type Decoder interface {
	// Line reads a record, which is valid during the call only. It returns false for a line that is not a JSON
	// object, which the kit reports.
	Line(text []byte) bool
}

// Store is an adapter.SessionStore to embed in an adapter. It is safe for concurrent use.
type Store struct{ format *Format }

var _ adapter.SessionStore = Store{}

// New returns the store of a format.
func New(f Format) Store { return Store{&f} }

// on returns the host with the store in it.
func (s Store) on(h adapter.Host) adapter.Host {
	if s.format.Mount != nil {
		return s.format.Mount(h)
	}
	return h
}

// SessionRoots returns the directories of the store.
func (s Store) SessionRoots(h adapter.Host) []string { return s.format.Roots(h) }

// ListSessions walks the store.
func (s Store) ListSessions(ctx context.Context, h adapter.Host) ([]history.File, []history.Problem) {
	l := &Lister{Host: s.on(h), ctx: ctx, agent: s.format.Agent}
	s.format.List(l)
	return l.files, l.problems
}

// SummarizeSession reads a small file whole, and the head and tail of a large one.
func (s Store) SummarizeSession(ctx context.Context, h adapter.Host, f history.File) (history.Summary, error) {
	b := newBuilder(s.on(h), f)
	if err := s.summarize(ctx, b); err != nil {
		return b.Summary, err
	}
	return b.finish(), nil
}

func (s Store) summarize(ctx context.Context, b *Builder) error {
	f := b.File
	if f.Problem != "" {
		return fmt.Errorf("%s: %s", f.Path, f.Problem)
	}
	if f.Size <= smallFile || s.format.Mount != nil || s.packed(f.Path) || s.whole(f.Path) {
		return s.read(ctx, b)
	}
	file, info, err := openFile(b.Host, f.Path)
	if err != nil {
		return fmt.Errorf("read %s: %w", f.Path, err)
	}
	defer func() { _ = file.Close() }() // opened read-only
	at, ok := file.(io.ReaderAt)
	if !ok {
		return s.read(ctx, b)
	}
	b.Partial = true
	d := s.format.Decode(b, b.Main)
	size := info.Size()
	head, err := s.head(ctx, b, d, at, size)
	if err == nil {
		err = s.tail(ctx, b, d, at, max(head, 0), size)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", f.Path, err)
	}
	s.describe(b)
	return nil
}

func (s Store) describe(b *Builder) {
	if s.format.Describe != nil {
		s.format.Describe(b)
	}
}

// head decodes the first lines until a summary has what it needs, and returns how far it read.
func (s Store) head(ctx context.Context, b *Builder, d Decoder, r io.ReaderAt, size int64) (int64, error) {
	var done int64
	number := 1
	for length := int64(headStep); ; length *= 2 {
		length = min(length, headMost, size)
		err := scan(ctx, io.NewSectionReader(r, done, length-done), number, func(l line) error {
			if !l.whole {
				return nil // the line continues in the next piece
			}
			done += l.size
			number++
			s.line(b, d, b.File.Path, l)
			return nil
		})
		if err != nil || b.headDone() || length == headMost || length == size {
			return done, err
		}
	}
}

// tail decodes the last lines, going back until one has a time.
func (s Store) tail(ctx context.Context, b *Builder, d Decoder, r io.ReaderAt, from, size int64) error {
	known := b.Summary.UpdatedAt
	for length := int64(tailStep); ; length *= 2 {
		start := max(from, size-min(length, tailMost))
		buf := make([]byte, size-start)
		n, err := r.ReadAt(buf, start)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		buf = buf[:n]
		if start > from { // the first line is incomplete
			i := bytes.IndexByte(buf, '\n')
			if i < 0 || i == len(buf)-1 {
				if start == from || length >= tailMost {
					return nil // an extremely long line: the head must suffice
				}
				continue
			}
			buf = buf[i+1:]
		}
		err = scan(ctx, bytes.NewReader(buf), 0, func(l line) error {
			if l.whole || jsonscan.Fields(l.text, nil, noKeys) == nil {
				l.number = 0
				s.line(b, d, b.File.Path, l)
			}
			return nil
		})
		if err != nil || start == from || length >= tailMost || !b.Summary.UpdatedAt.Equal(known) {
			return err
		}
	}
}

var noKeys = jsonscan.NewKeySet()

// ReadSession reads a whole session.
func (s Store) ReadSession(ctx context.Context, h adapter.Host, f history.File) (history.Session, error) {
	h = s.on(h)
	b := newBuilder(h, f)
	if f.Problem != "" {
		return b.session(), fmt.Errorf("%s: %s", f.Path, f.Problem)
	}
	if err := s.read(ctx, b); err != nil {
		return b.session(), err
	}
	for _, path := range f.Parts {
		about := history.Subagent{ID: path}
		if s.format.Subagent != nil {
			about = s.format.Subagent(h, path)
		}
		about.Path = path
		c := b.Subagent(about.ID, func(a *history.Subagent) { *a = about })
		if err := s.file(ctx, b, s.format.Decode(b, c), path); err != nil {
			if ctx.Err() != nil {
				return b.session(), ctx.Err()
			}
			b.Problem(path, 0, err.Error())
		}
	}
	return b.session(), nil
}

// read decodes the files before the main one, then the main file.
func (s Store) read(ctx context.Context, b *Builder) error {
	d := s.format.Decode(b, b.Main)
	if s.format.Before != nil {
		for _, path := range s.format.Before(b.Host, b.File) {
			if err := s.file(ctx, b, d, path); err != nil {
				b.Problem(path, 0, err.Error())
			}
		}
	}
	if err := s.file(ctx, b, d, b.File.Path); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("read %s: %w", b.File.Path, err)
	}
	s.describe(b)
	return nil
}

// file decodes a whole file.
func (s Store) file(ctx context.Context, b *Builder, d Decoder, path string) error {
	r, err := s.open(b.Host, path)
	if err != nil {
		return err
	}
	defer r.Close()
	if s.whole(path) {
		text, err := io.ReadAll(io.LimitReader(r, 4*MaxLine+1))
		if err != nil {
			return err
		}
		if len(text) > 4*MaxLine {
			return fmt.Errorf("is longer than %d MiB, the limit of a document", 4*MaxLine>>20)
		}
		if len(bytes.TrimSpace(text)) == 0 {
			b.Problem(path, 0, "is empty")
		} else if !d.Line(text) {
			b.Problem(path, 0, "is not a JSON object, or is truncated: nothing of it can be shown")
		}
		return nil
	}
	empty := true
	if s.format.Mount != nil {
		b.Summary.Size = 0
	}
	err = scan(ctx, r, 1, func(l line) error {
		empty = false
		s.line(b, d, path, l)
		if s.format.Mount != nil {
			b.Summary.Size += l.size
		}
		return nil
	})
	if err == nil && empty {
		b.Problem(path, 0, "is empty")
	}
	if err != nil && ctx.Err() == nil && !empty {
		// Keep what was read.
		b.Problem(path, 0, "cannot be read to its end: "+cause(err).Error())
		return nil
	}
	return err
}

// line decodes a line and reports an invalid one. Line number 0 means that the position is unknown.
func (s Store) line(b *Builder, d Decoder, path string, l line) {
	switch {
	case l.tooLong:
		b.Problem(path, l.number, fmt.Sprintf("is longer than %d MiB (%d bytes) and was skipped", MaxLine>>20, l.size))
	case d.Line(l.text):
	case !l.whole:
		b.Problem(path, l.number, fmt.Sprintf("the last line is cut off after %d bytes: it is being written, or its end is lost", l.size))
	default:
		b.Problem(path, l.number, "is not a JSON object and was skipped")
	}
}

func (s Store) whole(path string) bool { return s.format.Whole != nil && s.format.Whole(path) }

// packed reports whether a file must be read from the start.
func (s Store) packed(path string) bool {
	return s.format.Unpack != nil && filepath.Ext(path) != ".jsonl"
}

func (s Store) open(h adapter.Host, path string) (io.ReadCloser, error) {
	return Open(h, path, s.format.Unpack)
}

// OpenSession opens the raw content of a session.
func (s Store) OpenSession(ctx context.Context, h adapter.Host, f history.File) (io.ReadCloser, error) {
	if f.Problem != "" {
		return nil, fmt.Errorf("%s: %s", f.Path, f.Problem)
	}
	h = s.on(h)
	first, err := s.open(h, f.Path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", f.Path, err)
	}
	c := &chain{ctx: ctx, now: first}
	paths := f.Parts
	if s.format.Before != nil {
		paths = append(s.format.Before(h, f), paths...)
	}
	for _, path := range paths {
		c.open = append(c.open, func() (io.ReadCloser, error) { return s.open(h, path) })
	}
	return c, nil
}

// FollowSession follows a session's file while it grows.
func (s Store) FollowSession(h adapter.Host, f history.File) (adapter.SessionFollower, error) {
	if f.Problem != "" {
		return nil, fmt.Errorf("%s: %s", f.Path, f.Problem)
	}
	if s.whole(f.Path) || s.packed(f.Path) || s.format.Mount != nil {
		what := ", a file that it rewrites or has archived"
		if s.format.Mount != nil {
			what = ", a database whose rows it rewrites"
		}
		return nil, (&execution.Error{Code: execution.CodeCapability, Agent: f.Agent, Capability: "sessionWatch",
			Message: f.Agent + " keeps this session in " + f.Path + what + ": it cannot be followed"}).WithHint("drawbar sessions show %s:%s", f.Agent, f.ID)
	}
	b := newBuilder(h, f)
	b.live, b.Main.live = true, true
	return &follower{builder: b, decoder: s.format.Decode(b, b.Main)}, nil
}
