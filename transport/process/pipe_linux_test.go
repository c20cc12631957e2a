package process

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func TestGrowPipe(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer closeAll([]*os.File{r, w})
	size := func() int {
		n, err := unix.FcntlInt(r.Fd(), unix.F_GETPIPE_SZ, 0)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := size()
	growPipe(r)
	if got := size(); got <= before {
		t.Skipf("the system does not allow a larger pipe: %d of %d bytes", got, before)
	}
	if _, err := w.Write(make([]byte, size())); err != nil { // nobody reads: it must fit
		t.Error(err)
	}
}
