package process

import "sync"

// tail keeps the last bytes of a stream. Safe for concurrent use.
type tail struct {
	limit int

	mu  sync.Mutex
	buf []byte
}

func (t *tail) add(p []byte) {
	if t == nil || t.limit <= 0 || len(p) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(p) >= t.limit {
		t.buf = append(t.buf[:0], p[len(p)-t.limit:]...)
		return
	}
	if over := len(t.buf) + len(p) - t.limit; over > 0 {
		t.buf = t.buf[:copy(t.buf, t.buf[over:])]
	}
	t.buf = append(t.buf, p...)
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf)
}
