package demo

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/internal/base/version"
)

// A run that lasts asks its agent for a version. The stand-in has none, and takes no turn of its model for it.
func TestStandInsVersion(t *testing.T) {
	t.Parallel()
	model := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the model was asked") }))
	defer model.Close()
	var out bytes.Buffer
	env := func(string) string { return model.URL }
	if code := Agent(context.Background(), []string{"--version"}, strings.NewReader(""), &out, env); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if v := version.Find(out.String()); v != "" {
		t.Errorf("version %q in %q", v, out.String())
	}
}
