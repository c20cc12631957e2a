package root

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

// TestTheFirstCollectionIsLate checks that the collector's usual setting comes back with the first collection, and that a setting in
// the environment is left alone.
func TestTheFirstCollectionIsLate(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(50))
	percent := func() uint64 {
		sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	t.Setenv("GOGC", "50")
	collectLater()
	if got := percent(); got != 50 {
		t.Fatalf("GOGC in the environment is replaced by %d", got)
	}
	t.Setenv("GOGC", "")
	collectLater()
	if got := percent(); got != 800 {
		t.Fatalf("the setting is %d, want 800", got)
	}
	for deadline := time.Now().Add(10 * time.Second); percent() != 50; {
		if time.Now().After(deadline) {
			t.Fatalf("the setting is still %d after a collection, want 50", percent())
		}
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
}
