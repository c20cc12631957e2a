package surface_test

import (
	"context"
	"fmt"

	"github.com/drawbar/drawbar/product/surface"
)

func Example() {
	var r surface.Registry
	_ = r.Register(surface.Surface{ID: "sms", Capabilities: surface.Capabilities{MaxChars: 12}, Send: func(_ context.Context, e surface.Event) error {
		fmt.Println(e.Text)
		return nil
	}})
	out, _ := r.Fanout(context.Background(), surface.Event{Text: "Your parcel has arrived."}, []string{"sms", "mail"}, surface.Fanout{})
	fmt.Println(out[0].Status, out[1].Status)
	// Output:
	// Your parcel…
	// delivered skipped
}
