package usage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"

	"github.com/drawbar/drawbar/internal/base/atomicfile"
)

// The cache is a set of small files, each with the results for the session files whose paths map to it. They
// are replaced atomically, so other processes always see a complete file; of two concurrent writers one wins,
// and the other's results are read again. A damaged file, or one of another version, counts as empty.
const (
	shards    = 32
	cacheForm = "drawbar usage 1\n"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// cache is what is known of files, by agent and path.
type cache struct {
	dir   string // empty: no cache
	known [shards]map[string]*scanned
	dirty [shards]bool
}

func shardOf(id string) int { return int(crc32.Checksum([]byte(id), castagnoli) % shards) }

func (c *cache) file(shard int) string {
	return filepath.Join(c.dir, fmt.Sprintf("%02d.bin", shard))
}

// load reads one shard.
func (c *cache) load(shard int) {
	c.known[shard] = map[string]*scanned{}
	if c.dir == "" {
		return
	}
	b, err := os.ReadFile(c.file(shard))
	if err != nil || len(b) < len(cacheForm)+4 || string(b[:len(cacheForm)]) != cacheForm {
		return
	}
	body := b[len(cacheForm) : len(b)-4]
	if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(b[len(b)-4:]) {
		return
	}
	d := decoder{b: body}
	for len(d.b) > 0 && !d.failed {
		id, s := d.text(), d.scanned()
		if !d.failed {
			c.known[shard][id] = s
		}
	}
	if d.failed {
		c.known[shard] = map[string]*scanned{}
	}
}

// save writes the shards that changed.
func (c *cache) save() error {
	if c.dir == "" {
		return nil
	}
	var errs []error
	for i := range shards {
		if !c.dirty[i] {
			continue
		}
		if err := c.write(i); err != nil {
			errs = append(errs, err)
			break // the next one would fail too
		}
		c.dirty[i] = false
	}
	return errors.Join(errs...)
}

func (c *cache) write(shard int) (err error) {
	b := []byte(cacheForm)
	for id, s := range c.known[shard] {
		b = appendText(b, id)
		b = appendScanned(b, s)
	}
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[len(cacheForm):], castagnoli))
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return err
	}
	return atomicfile.Write(c.file(shard), b, 0o600, false)
}

func appendText[T string | []byte](b []byte, s T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendScanned(b []byte, s *scanned) []byte {
	for _, n := range []int64{int64(s.version), s.size, s.modTime, s.boundary, int64(s.bad), s.badAt, int64(s.complete)} {
		b = binary.AppendVarint(b, n)
	}
	b = binary.LittleEndian.AppendUint64(b, s.mark)
	b = appendText(b, s.state)
	b = binary.AppendUvarint(b, uint64(len(s.names)))
	for _, n := range s.names {
		b = appendText(b, n)
	}
	b = binary.AppendUvarint(b, uint64(len(s.calls)))
	var last int64
	for i := range s.calls {
		c := &s.calls[i]
		b = append(b, byte(c.flags))
		b = binary.AppendVarint(b, c.time-last)
		last = c.time
		b = append(b, c.key[:]...)
		b = binary.LittleEndian.AppendUint64(b, c.twin)
		for _, n := range []int32{c.model, c.session, c.project, c.fork} {
			b = binary.AppendUvarint(b, uint64(n))
		}
		for _, n := range []int64{c.input, c.output, c.thinking, c.read, c.write, c.write1h} {
			b = binary.AppendUvarint(b, uint64(n))
		}
		if c.is(stated) {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(c.cost))
		}
	}
	return b
}

// decoder reads what append wrote. It always terminates and uses no more memory than a few times its input.
type decoder struct {
	b      []byte
	failed bool
}

func (d *decoder) fail() { d.b, d.failed = nil, true }

func (d *decoder) uvarint() uint64 {
	n, size := binary.Uvarint(d.b)
	if size <= 0 {
		d.fail()
		return 0
	}
	d.b = d.b[size:]
	return n
}

func (d *decoder) varint() int64 {
	n, size := binary.Varint(d.b)
	if size <= 0 {
		d.fail()
		return 0
	}
	d.b = d.b[size:]
	return n
}

func (d *decoder) bytes(n uint64) []byte {
	if n > uint64(len(d.b)) {
		d.fail()
		return nil
	}
	b := d.b[:n]
	d.b = d.b[n:]
	return b
}

func (d *decoder) word() uint64 {
	b := d.bytes(8)
	if d.failed {
		return 0
	}
	return binary.LittleEndian.Uint64(b)
}

func (d *decoder) text() string { return string(d.bytes(d.uvarint())) }

// count reads the length of a list whose elements take at least size bytes.
func (d *decoder) count(size int) int {
	n := d.uvarint()
	if n > uint64(len(d.b)/size) {
		d.fail()
		return 0
	}
	return int(n)
}

func (d *decoder) scanned() *scanned {
	var n [7]int64
	for i := range n {
		n[i] = d.varint()
	}
	s := &scanned{version: int(n[0]), size: n[1], modTime: n[2], boundary: n[3], bad: int(n[4]), badAt: n[5], complete: int(n[6])}
	s.mark = d.word()
	s.state = append([]byte(nil), d.bytes(d.uvarint())...)
	s.names = make([]string, d.count(1))
	for i := range s.names {
		s.names[i] = d.text()
	}
	s.calls = make([]call, d.count(33))
	var last int64
	for i := range s.calls {
		c := &s.calls[i]
		if b := d.bytes(1); len(b) == 1 {
			c.flags = flags(b[0])
		}
		last += d.varint()
		c.time = last
		copy(c.key[:], d.bytes(uint64(len(c.key))))
		c.twin = d.word()
		for _, p := range []*int32{&c.model, &c.session, &c.project, &c.fork} {
			v := d.uvarint()
			if v >= uint64(len(s.names)) {
				d.fail()
				return s
			}
			*p = int32(v)
		}
		for _, p := range []*int64{&c.input, &c.output, &c.thinking, &c.read, &c.write, &c.write1h} {
			*p = int64(d.uvarint())
		}
		if c.is(stated) {
			c.cost = math.Float64frombits(d.word())
		}
		if d.failed {
			return s
		}
	}
	if len(s.names) == 0 || s.complete < 0 || s.complete > len(s.calls) {
		d.fail()
	}
	return s
}
