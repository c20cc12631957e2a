package chat_test

import (
	"context"
	"fmt"

	"github.com/drawbar/drawbar/product/chat"
)

func Example() {
	s := chat.Sessions{Store: &chat.Memory{}}
	first, _ := s.Resolve(context.Background(), "ann", "shop", "web")
	again, _ := s.Resolve(context.Background(), "ann", "shop", "web")
	fmt.Println(first.ID == again.ID, again.State)
	// Output: true active
}
