// Command external-runner takes the next turn of a governed project without Drawbar's command line: it assigns the turn,
// runs its local_cli program through package adapterinterface, reads what was staged, and accepts it.
//
//	go mod tidy
//	go run . DIR
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/adapterinterface"
	"github.com/drawbar/drawbar/govern"
)

func main() {
	drawbar.Supervise() // the runner is also the keeper of the processes that it starts
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "external-runner:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return errors.New("usage: external-runner DIR")
	}
	dir, options := args[0], govern.Options{Owner: "external-runner", Trust: ask}
	project, err := drawbar.OpenProject(dir, options)
	if err != nil {
		return err
	}
	turn, err := project.Assign(ctx, govern.StepOptions{})
	if err != nil {
		return err
	}
	fmt.Printf("interface %s, turn of role %s: %s\n", adapterinterface.Version, turn.Role, turn.Outcome)
	o := adapterinterface.Options{Options: options, Turn: turn.TurnID}
	worked, err := adapterinterface.DispatchLocalCLI(ctx, dir, o)
	if err != nil {
		return err
	}
	if !worked.Staged {
		return fmt.Errorf("%s: %s (%s)", worked.Class, worked.Detail, worked.Hint)
	}
	result, err := adapterinterface.ReadStagedResult(ctx, dir, o)
	if err != nil {
		return err
	}
	fmt.Printf("staged %d bytes\n", len(result))
	accepted, err := project.Accept(ctx, govern.AcceptOptions{Turn: turn.TurnID})
	if err != nil {
		return err
	}
	fmt.Println(accepted.Outcome, accepted.Summary)
	return nil
}

// ask shows what would run and asks the person, once, unless they have trusted it: drawbar trust.
func ask(_ string, items []govern.TrustItem) bool {
	shown := fmt.Sprint(items)
	if shown == allowed {
		return true
	}
	for _, i := range items {
		fmt.Fprintf(os.Stderr, "%s, %s would run: %s %v\n", i.File, i.Place, i.Runs, i.Files)
	}
	fmt.Fprint(os.Stderr, "Run it? [y/N] ")
	answer, _ := bufio.NewReader(os.Stdin).ReadString('\n') // without an answer it is no
	if strings.TrimSpace(answer) != "y" {
		return false
	}
	allowed = shown
	return true
}

// allowed is what the person has allowed.
var allowed string
