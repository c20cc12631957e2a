package conformance

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/drawbar/drawbar/transport/process"
)

func TestMain(m *testing.M) {
	if mode := os.Getenv("CONFORMANCE_FAKE"); mode != "" {
		os.Exit(fake(mode))
	}
	process.MaybeKeeper()
	goleak.VerifyTestMain(m)
}

// fake is an implementation over stdio: what it answers is its mode, and its fixture in "actual".
func fake(mode string) int {
	line, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil {
		return 9
	}
	var f Fixture
	if json.Unmarshal([]byte(line), &f) != nil || strings.Count(line, "\n") != 1 {
		return 9
	}
	wd, _ := os.Getwd()
	kind, rest, _ := strings.Cut(mode, " ")
	switch kind {
	case "answer": // answer CODE JSON
		var code int
		code64, text, _ := strings.Cut(rest, " ")
		fmt.Sscan(code64, &code)
		fmt.Println(text)
		return code
	case "where":
		fmt.Printf(`{"status":"pass","message":%q,"actual":%s}`, filepath.Base(wd), f.Expected)
		return 0
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		time.Sleep(time.Minute)
	case "noise":
		fmt.Fprintln(os.Stderr, "cannot find my head")
		return 2
	case "flood":
		b := strings.Repeat("x", 1<<20)
		for range 20 {
			fmt.Println(b)
		}
	}
	return 0
}

// fixture makes a fixture whose expected is the given JSON.
func fixture(t *testing.T, id string, tier int, surface, expected string) Fixture {
	t.Helper()
	f, err := ParseFixture(fmt.Appendf(nil, `{"fixture_id":%q,"tier":%d,"surface":%q,"description":"d","type":"t","setup":{},
		"input":{"operation":"op","args":{}},"expected":%s}`, id, tier, surface, expected))
	if err != nil {
		t.Fatal(err)
	}
	return f
}
