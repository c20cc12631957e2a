package configstore

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/drawbar/drawbar/adapter/kit/configfile"
)

// As a helper the test binary edits, or holds a lock, in another process.
func TestMain(m *testing.M) {
	file := os.Getenv("CONFIGSTORE_FILE")
	switch os.Getenv("CONFIGSTORE_ROLE") {
	case "":
		os.Exit(m.Run())
	case "count":
		for i := range 20 {
			if err := set(file, fmt.Sprintf("%s%d", os.Getenv("CONFIGSTORE_NAME"), i), i); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		}
	case "hold":
		l, err := lock(context.Background(), file, time.Second)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println("held")
		_, _ = os.Stdin.Read(make([]byte, 1)) // the test closes it, or kills us
		_ = l.release()
	case "loop":
		for i := 0; ; i++ {
			if err := set(file, "n", i); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		}
	}
}

func set(file, key string, value any) error {
	_, err := Edit(context.Background(), file, configfile.JSON, setting(key, value), Options{})
	return err
}

func setting(key string, value any) func(*configfile.Document) (bool, error) {
	return func(d *configfile.Document) (bool, error) { return true, d.Set(configfile.Path{key}, value) }
}
