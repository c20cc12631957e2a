package hookrelay

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
)

// A frame is the length of a JSON value in four bytes, big-endian, followed by the value.

func writeFrame(w io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	frame := binary.BigEndian.AppendUint32(make([]byte, 0, len(b)+4), uint32(len(b)))
	_, err = w.Write(append(frame, b...))
	return err
}

// readFrame reads a frame of at most limit bytes. It allocates for what arrives, not for what is announced.
func readFrame(r io.Reader, v any, limit int64) error {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err
	}
	n := int64(binary.BigEndian.Uint32(head[:]))
	if n > limit {
		return fmt.Errorf("a frame of %d bytes", n)
	}
	b, err := io.ReadAll(io.LimitReader(r, n))
	if err != nil {
		return err
	}
	if int64(len(b)) != n {
		return io.ErrUnexpectedEOF
	}
	return json.Unmarshal(b, v)
}
