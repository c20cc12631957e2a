package codex

import (
	"bytes"
	"io"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/usagescan/usagetest"
	"github.com/drawbar/drawbar/history"
)

// A compressed rollout tells of the same calls as the plain one, which may stand beside it.
func TestUsageOfPackedRollouts(t *testing.T) {
	store := Adapter{}.UsageStores(adapter.Host{Home: "/h", Getenv: func(string) string { return "" }})[0]
	const rel = "2026/11/01/rollout-2026-11-01T10-00-00-A.jsonl"
	if !store.Match(rel) || !store.Match(rel+".zst") {
		t.Fatal("want both")
	}
	text := []byte(metaLine("A", "") + contextLine("m") + countLine(tokensOf(100, 40, 20, 5), "null"))
	var packed bytes.Buffer
	w, err := zstd.NewWriter(&packed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := store.Unpack(rel+".zst", io.NopCloser(&packed))
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	one := usagetest.Scan(Adapter{}.NewUsageScanner(t.Context(), adapter.Host{}, history.UsageFile{Rel: rel}), text, 0)
	two := usagetest.Scan(Adapter{}.NewUsageScanner(t.Context(), adapter.Host{}, history.UsageFile{Rel: rel + ".zst"}), got, 0)
	if len(one) != 1 || len(two) != 1 || one[0] != two[0] {
		t.Errorf("%+v\n%+v", one, two)
	}
}
