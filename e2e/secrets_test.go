//go:build e2e

package e2e

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSecretsOfTheEnvironment has an agent print its environment: the model gets it, and nothing that Drawbar keeps has a secret of it.
func TestSecretsOfTheEnvironment(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		l := newLab(t, k, `{"turns":[{"tools":[`+k.shell("env")+`]},{"text":"done"}]}`)
		planted := map[string]string{"DEPLOY_TOKEN": "planted-token-Qz71", "DB_PASSWD": "planted passwd Qz72", "VAULT_KEY": "hvs." + "CAESIJQz73abcdefghij012345",
			"DATABASE_URL": "postgres://app:Qz74planted@db.example/app", "MULTI_SECRET": "the first line Qz75\nthe second line Qz76"}
		for name, value := range planted {
			l.env[name] = value
		}
		l.run("--approve", "yolo", "go").completed(t)
		seen := strings.Join(l.sent(), "\n")
		kept := ""
		if err := filepath.WalkDir(filepath.Join(l.root, "state", "drawbar"), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			b, err := os.ReadFile(path)
			kept += string(b)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		reached := 0
		for _, core := range []string{"Qz71", "Qz72", "Qz73", "Qz74", "Qz75", "Qz76"} {
			if strings.Contains(seen, core) {
				reached++
			}
			if strings.Contains(kept, core) {
				t.Errorf("%s stands in the record", core)
			}
		}
		if k.terminal != "" {
			defect(t, k.terminal)
		} else if reached == 0 {
			t.Log("the agent keeps such variables from its commands itself")
		} else if !strings.Contains(kept, "[REDACTED]") {
			t.Error("nothing was taken out; the test proves nothing")
		}
		t.Logf("%d of 6 reached the model, none the record", reached)
	})
}
