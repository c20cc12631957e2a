package usage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/usagescan"
	"github.com/drawbar/drawbar/history"
)

const (
	readSize = 512 << 10 // stays in a processor's own cache
	maxLine  = 1 << 30   // of a line worth parsing; other lines have no limit
	marks    = 256       // bytes at either end of the scanned part that must be unchanged
)

// scanned is the result of one file.
type scanned struct {
	version  int
	size     int64
	modTime  int64 // Unix nanoseconds
	boundary int64 // after the last complete line
	mark     uint64
	state    []byte
	bad      int
	badAt    int64
	names    []string
	calls    []call
	complete int   // calls before boundary
	fresh    int64 // bytes read for it just now
}

// current reports whether the file is unchanged.
func (s *scanned) current(version int, info fs.FileInfo) bool {
	return s != nil && s.version == version && s.size == info.Size() && s.modTime == info.ModTime().UnixNano()
}

// scanFile reads a file, or what was added to it since old.
func scanFile(ctx context.Context, h adapter.Host, src Source, j *job, buf *[]byte) (*scanned, error) {
	f, old := j.file, j.old
	file, err := j.fs.Open(j.name)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // read only
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	if j.whole {
		info = j.info // the state that was listed
	}
	version := src.Log.UsageVersion()
	scanner := src.Log.NewUsageScanner(ctx, h, f)
	s := &scanned{version: version, size: info.Size(), modTime: info.ModTime().UnixNano(), names: []string{""}}
	names := newTable()
	var start int64
	if old != nil && old.version == version && old.boundary > 0 && s.size > old.boundary && old.mark != 0 && old.mark == fingerprint(file, old.boundary) && scanner.Restore(old.state) {
		if _, err := file.(io.Seeker).Seek(old.boundary, io.SeekStart); err != nil {
			return nil, err
		}
		start = old.boundary
		for _, n := range old.names[1:] {
			names.of(n)
		}
		s.calls = append(s.calls, old.calls[:old.complete]...)
		s.bad, s.badAt = old.bad, old.badAt
	} else if old != nil {
		scanner = src.Log.NewUsageScanner(ctx, h, f) // a failed Restore may have changed the scanner
	}
	stream := io.LimitReader(file, s.size-start)
	if j.whole {
		stream = file
	}
	packed := j.whole
	if j.unpack != nil {
		asIs := io.NopCloser(stream) // the file is closed here
		r, err := j.unpack(f.Rel, asIs)
		if err != nil {
			return nil, err
		}
		defer r.Close()
		packed = r != asIs
		stream = r
	}
	read, err := scanStream(ctx, stream, scanner, buf, func(r *history.UsageRecord) {
		s.calls = addCall(s.calls, names.record(r))
	}, func() {
		s.state, s.boundary, s.complete = scanner.State(), start+scanner.Boundary(), len(s.calls)
	})
	if err != nil {
		return nil, err
	}
	s.fresh = read
	if packed {
		s.boundary = 0 // what has been packed does not grow
	} else {
		s.size = start + read
	}
	if bad, at := scanner.Bad(); bad > 0 {
		if s.bad == 0 {
			s.badAt = start + at
		}
		s.bad += bad
	}
	s.mark = fingerprint(file, s.boundary)
	s.names = names.names
	return s, nil
}

// recent is how many earlier calls of a file are searched for a copy: those of one answer are close together.
// The others are found when all files are combined.
const recent = 8

// addCall appends a call, or replaces a nearby copy of it.
func addCall(calls []call, c call) []call {
	if c.key != (history.UsageKey{}) && !c.is(statement) {
		for i := len(calls) - 1; i >= 0 && i >= len(calls)-recent; i-- {
			if o := &calls[i]; o.key == c.key && o.session == c.session && o.flags == c.flags {
				if better(&c, o) < 0 {
					*o = c
				}
				return calls
			}
		}
	}
	return append(calls, c)
}

// scanStream feeds a scanner. between is called when everything complete has been read.
func scanStream(ctx context.Context, r io.Reader, scanner adapter.UsageScanner, buf *[]byte, give func(*history.UsageRecord), between func()) (read int64, err error) {
	b := *buf
	if len(b) == 0 {
		b = make([]byte, readSize)
	}
	defer func() {
		if len(b) <= 16*readSize {
			*buf = b // a buffer enlarged by a gigantic line is not kept
		}
	}()
	have := 0
	for {
		n, err := r.Read(b[have:])
		read += int64(n)
		if have += n; n > 0 {
			done := scanner.Scan(b[:have], false, give)
			copy(b, b[done:have])
			have -= done
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return read, err
		}
		if err := ctx.Err(); err != nil {
			return read, err
		}
		if have == len(b) {
			if len(b) >= maxLine {
				return read, fmt.Errorf("a line that may contain usage has more than %d MiB", maxLine>>20)
			}
			grown := make([]byte, 2*len(b))
			copy(grown, b)
			b = grown
		}
	}
	between()
	scanner.Scan(b[:have], true, give)
	return read, nil
}

// fingerprint identifies the content before an offset, 0 if unknown.
func fingerprint(file fs.File, boundary int64) uint64 {
	at, ok := file.(io.ReaderAt)
	if _, seeks := file.(io.Seeker); !ok || !seeks || boundary <= 0 {
		return 0
	}
	var b [2 * marks]byte
	n := min(boundary, marks)
	if _, err := at.ReadAt(b[:n], 0); err != nil {
		return 0
	}
	if _, err := at.ReadAt(b[n:2*n], boundary-n); err != nil && !errors.Is(err, io.EOF) {
		return 0
	}
	return new(usagescan.Hash).Bytes(b[:2*n]).Int(boundary).Sum()
}
