package workspace

import (
	"fmt"
	"testing"

	"github.com/drawbar/drawbar/govern/protocol"
)

// BenchmarkTurn is what the workspace adds to a governed turn in a small repository.
func BenchmarkTurn(b *testing.B) {
	files := map[string]string{".gitignore": ".agentxchain/\n"}
	for i := range 50 {
		files[fmt.Sprintf("dir%d/file%d.txt", i%5, i)] = fmt.Sprintf("content %d\n", i)
	}
	r := newRepo(b, files)
	ctx := b.Context()
	base := r.baseline()
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			if _, err := open(ctx, r.dir, gitEnv(r.dir)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("baseline", func(b *testing.B) {
		for b.Loop() {
			if _, err := r.Baseline(ctx); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("observe", func(b *testing.B) {
		r.write("dir1/file1.txt", "changed")
		r.write("new.txt", "new")
		for b.Loop() {
			if o, err := r.Observe(ctx, base, ""); err != nil || len(o.Files) != 2 {
				b.Fatal(o, err)
			}
		}
	})
	b.Run("checkpoint", func(b *testing.B) {
		base := protocol.Baseline{Detail: &protocol.BaselineDetail{}}
		for i := 0; b.Loop(); i++ {
			r.write("dir1/file1.txt", fmt.Sprintf("change %d", i))
			p, err := r.Prepare(ctx, CheckpointRequest{Paths: []string{"dir1/file1.txt", "new.txt"}, Baseline: &base, Message: "checkpoint: turn",
				Files: map[string][]byte{".agentxchain/chain.jsonl": fmt.Appendf(nil, "{\"n\":%d}\n", i)}})
			if err == nil {
				err = r.Apply(ctx, p)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("worktree", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			turn := fmt.Sprintf("turn_%d", i)
			path, _, _, err := r.Worktree(ctx, turn)
			if err != nil {
				b.Fatal(err)
			}
			writeFile(b, path+"/dir2/file2.txt", fmt.Sprintf("change %d", i))
			_, err = r.Merge(ctx, turn, []string{"dir2/file2.txt"})
			if err == nil {
				err = r.Drop(ctx, turn)
			}
			if err != nil {
				b.Fatal(err)
			}
			r.run("checkout", "-q", "--", "dir2/file2.txt")
		}
	})
}
