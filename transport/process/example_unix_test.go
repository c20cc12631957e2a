//go:build unix

package process_test

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/drawbar/drawbar/transport/process"
)

// A program of its own would begin main with process.MaybeKeeper().
func ExampleStart() {
	ctx := context.Background()
	p, err := process.Start(ctx, process.Spec{
		Path:  "/bin/sh",
		Args:  []string{"-c", `while read -r word; do echo "hello $word"; done; exit 3`},
		Stdin: []byte("world\nagain\n"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for {
		lines, err := p.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			p.Stop(0)
			break
		}
		for _, l := range lines {
			fmt.Printf("%s: %s\n", l.Stream, l.Data)
		}
	}
	fmt.Println("exit code", p.Wait().Code)
	// Output:
	// stdout: hello world
	// stdout: hello again
	// exit code 3
}
