package memory_test

import (
	"context"
	"fmt"

	"github.com/drawbar/drawbar/product/memory"
)

func Example() {
	ctx, m := context.Background(), memory.Memory{Store: &memory.InProcess{}}
	ann := memory.Scope{Kind: memory.User, ID: "ann"}
	_, _ = m.Write(ctx, memory.Entry{Scope: ann, Content: "Ann likes tea."})
	_, _ = m.Write(ctx, memory.Entry{Scope: ann, Content: "Ann lives in Oslo."})
	found, err := m.Find(ctx, memory.Query{Scopes: []memory.Scope{ann}, Words: "where does she live in?"})
	fmt.Println(found[0].Content, err)
	// Output: Ann lives in Oslo. <nil>
}
