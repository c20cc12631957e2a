package proactive_test

import (
	"context"
	"fmt"
	"time"

	"github.com/drawbar/drawbar/product/proactive"
)

func Example() {
	e := proactive.New(proactive.Options{})
	_ = e.Add(proactive.FollowUp{ID: "remind", Template: "Still there?", Condition: func(context.Context, proactive.Moment) (bool, error) { return true, nil }})
	for range 2 {
		list, _ := e.FollowUps(context.Background(), proactive.Moment{SessionID: "s", ScheduledAt: time.Now()})
		fmt.Printf("%v %q\n", list[0].Fire, list[0].Why)
	}
	// Output:
	// true ""
	// false "cooldown"
}
