package secret

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// planted are made-up secrets of every kind, each with the part that must not stay. They are joined here so that no scanner
// takes them for real ones.
var planted = []struct{ name, text, core string }{
	{"anthropic", "sk-" + "ant-api03-Zx9_Qw8Er7Ty6Ui5Op4-AA", "Zx9_Qw8Er7Ty6Ui5Op4"},
	{"openai", "sk-" + "proj-Ab3dEf6hIj9kLm2nOp5q", "Ab3dEf6hIj9kLm2nOp5q"},
	{"github", "ghp_" + "abcdefghij0123456789abcdefghij012345", "abcdefghij0123456789abcdefghij012345"},
	{"github oauth", "gho_" + "abcdefghij0123456789abcdefghij012345", "abcdefghij0123456789abcdefghij012345"},
	{"github fine", "github_pat_" + "11ABCDEFG0abcdefghijkl_mnop", "11ABCDEFG0abcdefghijkl_mnop"},
	{"gitlab", "glpat-" + "abcdefghij0123456789", "abcdefghij0123456789"},
	{"aws", "AKIA" + "IOSFODNN7EXAMPLE", "IOSFODNN7EXAMPLE"},
	{"slack bot", "xoxb-" + "123456789012-abcdef", "123456789012-abcdef"},
	{"slack app", "xapp-" + "1-A01234567-1234567890-abcdef0123456789", "A01234567-1234567890"},
	{"google", "AIza" + "SyA0123456789abcdefghijklmnopqrstuv", "SyA0123456789abcdefghijklmnopqrstuv"},
	{"google oauth", "ya29." + "a0AfH6SMBx-0123456789abcdef", "a0AfH6SMBx-0123456789abcdef"},
	{"google client", "GOCSPX-" + "abcdEFGH0123ijklMNOP4567", "abcdEFGH0123ijklMNOP4567"},
	{"npm", "npm_" + "abcdefghij0123456789abcdefghij012345", "abcdefghij0123456789abcdefghij012345"},
	{"huggingface", "hf_" + "abcdefghij0123456789abcdefghij0123", "abcdefghij0123456789abcdefghij0123"},
	{"jwt", "eyJ" + "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abcdefghijk", "hbGciOiJIUzI1NiJ9"},
	{"stripe", "sk_" + "live_51Habcdefghij0123456789", "51Habcdefghij0123456789"},
	{"stripe restricted", "rk_" + "live_51Habcdefghij0123456789", "51Habcdefghij0123456789"},
	{"sendgrid", "SG." + "abcdefghijklmnop012345.ABCDEFGHIJ0123456789abcdefghijABCDEFGHIJ012", "abcdefghijklmnop012345"},
	{"pypi", "pypi-" + "AgEIcHlwaS5vcmcCJDAwMDAwMDAwLTAwMDAtMDAwMA", "AgEIcHlwaS5vcmcCJDAwMDAwMDAwLTAwMDAtMDAwMA"},
	{"vault", "hvs." + "CAESIJabcdefghij0123456789", "CAESIJabcdefghij0123456789"},
	{"digitalocean", "dop_v1_" + "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", "0123456789abcdef0123456789abcdef"},
	{"age", "AGE-SECRET-KEY-" + "1QQPQZRFR7ZZ2WCV05AAAAABBBBBCCCCC", "1QQPQZRFR7ZZ2WCV05"},
	{"shopify", "shpat_" + "0123456789abcdef0123456789abcdef", "0123456789abcdef0123456789abcdef"},
	{"xai", "xai-" + "abcdefghij0123456789ABCDEFGHIJ", "abcdefghij0123456789ABCDEFGHIJ"},
	{"groq", "gsk_" + "abcdefghij0123456789ABCDEFGHIJ", "abcdefghij0123456789ABCDEFGHIJ"},
	{"linear", "lin_api_" + "abcdefghij0123456789ABCDEFGHIJ", "abcdefghij0123456789ABCDEFGHIJ"},
	{"azure", "AccountName=x;AccountKey=" + "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq==", "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1"},
	{"bearer", "Authorization: Bearer " + "abcdefgh12345678==", "abcdefgh12345678"},
	{"basic", "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("alice:hunter2hunter2")), "hbGljZTpodW50ZXIy"},
	{"url", "postgres://alice:" + "s3cr3tPlanted9@db.example/x", "s3cr3tPlanted9"},
	{"password", "host=db password=" + "correct-horse-9 user=x", "correct-horse-9"},
	{"pem", "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIEowIBAAKCAQEA0123456789abcdefghij\nKLMNOPQRSTUVWXYZabcdefghij\n-----END RSA " + "PRIVATE KEY-----", "KLMNOPQRSTUVWXYZ"},
	{"pem cut off", "-----BEGIN OPENSSH " + "PRIVATE KEY-----\nMIIEowIBAAKCAQEA0123456789abcdefghij\nKLMNOPQRSTUVWXYZabcdefghij\nKL0123", "KLMNOPQRSTUVWXYZ"},
}

func TestShapes(t *testing.T) {
	t.Parallel()
	r := &Redactor{}
	for _, p := range planted {
		for _, form := range []string{"%s", "x %s", "\n%s\n", `{"a":"%s"}`, "k: '%s'.", "(%s)"} {
			text := fmt.Sprintf(form, p.text)
			if got := r.Text(text); strings.Contains(got, p.core) || !strings.Contains(got, Mark) {
				t.Errorf("%s: %q became %q", p.name, text, got)
			}
			// As a string of JSON, and in JSON in a string of JSON.
			for range 2 {
				text = `{"s":"` + escape(text, true) + `"}`
				if got := string(r.JSON([]byte(text), nil)); strings.Contains(got, p.core) || !strings.Contains(got, Mark) {
					t.Errorf("%s: %s became %s", p.name, text, got)
				}
			}
		}
	}
}

// A text that comes in two pieces is never given out with the beginning of a secret in it.
func TestShapesCut(t *testing.T) {
	t.Parallel()
	r := &Redactor{}
	for _, p := range planted {
		text := "see: " + p.text + " end"
		from := strings.Index(text, p.core)
		for cut := range text {
			f := r.Find(text[:cut], 0)
			shown := f.Hide(0, f.Open)
			if n := min(len(shown), cut) - from; n > 0 && strings.Contains(shown, p.core[:min(n, len(p.core), 4)]) && cut < from+len(p.core) {
				t.Errorf("%s: of %q %q is shown", p.name, text[:cut], shown)
			}
		}
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	l := Lines{Redactor: New([]string{"first-line-of-it\nsecond-line-of-it"})}
	for _, c := range []struct{ line, want string }{
		{"-----BEGIN EC PRIVATE KEY-----", "-----BEGIN EC PRIVATE KEY-----"},
		{"Proc-Type: 4,ENCRYPTED", Mark},
		{"", ""},
		{"MHcCAQEEIBmFabcdefghijklmnopqrstuv0123456789", Mark},
		{"  abc=", Mark},
		{"-----END EC PRIVATE KEY-----", "-----END EC PRIVATE KEY-----"},
		{"MHcCAQEEIBmFabcdefghijklmnopqrstuv0123456789", "MHcCAQEEIBmFabcdefghijklmnopqrstuv0123456789"},
		{"-----BEGIN EC PRIVATE KEY-----", "-----BEGIN EC PRIVATE KEY-----"},
		{"a sentence ends it", "a sentence ends it"},
		{"word", "word"},
		{"x first-line-of-it", "x " + Mark},
		{"second-line-of-it", Mark},
	} {
		if got := l.Text(c.line); got != c.want {
			t.Errorf("%q: got %q, want %q", c.line, got, c.want)
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"API_KEY": true, "github_token": true, "Authorization": true, "DB_PASSWORD": true, "Cookie": true,
		"DB_PASSWD": true, "PASSPHRASE": true, "PRIVATE_PEM": true, "SENTRY_DSN": true, "DATABASE_URL": true, "PG_CONN": true, "SLACK_WEBHOOK_URL": true,
		"SESSION_COOKIE": true, "MYSQL_PWD": true, "DB_PASS": true, "AWS_SECRET_ACCESS_KEY": true, "GOOGLE_APPLICATION_CREDENTIALS": true, "--api-key": true,
		"X-Api-Key": true, "OAUTH": true, "BOT_TOKENS": true,
		"PATH": false, "HOME": false, "SSH_AUTH_SOCK": false, "LANG": false, "PWD": false, "OLDPWD": false, "GIT_AUTHOR_NAME": false, "GOPRIVATE": false,
		"MAX_OUTPUT_TOKENS": false, "SSH_CONNECTION": false, "XKB_KEYBOARD": false, "BYPASS": false, "PATTERN": false, "COMPASS_URL": false} {
		if Name(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
	for name, want := range map[string]bool{"apiKey": true, "api_key": true, "password": true, "auth": false, "maxTokens": false, "bearer_token_env_var": false,
		"credentialHelper": false, "private": false, "reconnect": false} {
		if Setting(name) != want {
			t.Errorf("setting %s: %v", name, !want)
		}
	}
}

func TestOrdinary(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for value, want := range map[string]bool{"": true, "1": true, "true": true, "localhost": true, "/": true, dir: true, dir + "/none": false, "8080": true, "127.0.0.1": true,
		"2026-01-01": true, "********": true, "required": true, "hunter2": false, "correct horse": false, "./none-here": false} {
		if Ordinary(value) != want {
			t.Errorf("%q: %v", value, !want)
		}
	}
}

func TestValues(t *testing.T) {
	t.Parallel()
	r := New(Environ([]string{"API_KEY=plain-key-1", "SHORT_KEY=1", "PATH=/usr/bin", "X_TOKEN=", "PROXY=http://bob:proxy-pass-1@h:1/", "=C:=x", "none",
		"DATABASE_URL=postgres://u:pass-of-db@h/db?sslkey=k-of-ssl-1", "MY_PASSPHRASE=correct horse battery", "AZURE_CONN=Endpoint=x;SharedAccessKey=shared-1;Name=y",
		"GCP_CREDENTIALS=" + `{"type":"service_account","private_key":"line-one-of-it\nline-two-of-it\n","token_uri":"https://t.example/x"}`,
		"MULTI_SECRET=first-line-here\nsecond-line-here\n"}))
	r.Add(Args([]string{"--api-key=arg-key-1", "--token", "arg-tok-1", "--name", "value", "https://h.example/mcp?tok=q123456789x", "-H", "Authorization: Bearer head-tok-1",
		"--url=https://a:url-pass-1@h/", "--header=X-Api-Key: other-key-1"})...)
	r.Add("Bearer abc-def-ghi", "wörld-☃-key")
	for _, s := range []string{"plain-key-1", "proxy-pass-1", "pass-of-db", "correct horse battery", "shared-1", "line-one-of-it", "line-two-of-it", "first-line-here",
		"second-line-here", "arg-key-1", "arg-tok-1", "head-tok-1", "url-pass-1", "other-key-1", "abc-def-ghi", `w\u00f6rld-\u2603-key`, "k-of-ssl-1", "q123456789x"} {
		if got := r.Text("x " + s + " y"); got != "x "+Mark+" y" {
			t.Errorf("%q: %q", s, got)
		}
	}
	for _, s := range []string{"1", "/usr/bin", "service_account", "https://t.example/x", "--name value", "horse", "none", "https://h.example/mcp", "first-line"} {
		if got := r.Text("x " + s + " y"); got != "x "+s+" y" {
			t.Errorf("%q: %q", s, got)
		}
	}
	got := fmt.Sprint(r.Args([]string{"--api-key", "abc", "--token=abc", "--name", "x", "plain-key-1", "--auth-token", "--verbose", "y", "https://u:pw@h/?key=1&b=2"}))
	if want := "[--api-key [REDACTED] --token=[REDACTED] --name x [REDACTED] --auth-token --verbose y https://u:[REDACTED]@h/?key=[REDACTED]&b=2]"; got != want {
		t.Errorf("%s", got)
	}
}

// Of ordinary code nothing is taken out.
func TestPrecision(t *testing.T) {
	t.Parallel()
	var lines []string
	root := filepath.Join("..", "..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		switch name := d.Name(); {
		case strings.HasSuffix(name, "_test.go") && strings.Contains(path, "secret"), filepath.Base(filepath.Dir(path)) == "secret":
			return nil
		case strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go"), name == "go.sum", name == "package-lock.json", strings.HasSuffix(name, ".md"):
			b, err := os.ReadFile(path)
			lines = append(lines, strings.Split(string(b), "\n")...)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(lines) < 10_000 {
		t.Fatalf("%d lines are too few", len(lines))
	}
	random := rand.NewChaCha8([32]byte{}) // the same each time: by chance any shape comes up in enough of it
	for i := range 5000 {
		var b [48]byte
		_, _ = random.Read(b[:])
		u := hex.EncodeToString(b[:16])
		lines = append(lines, "commit "+hex.EncodeToString(b[:20]), `"integrity": "sha512-`+base64.StdEncoding.EncodeToString(b[:])+`",`,
			fmt.Sprintf("id: %s-%s-%s-%s-%s", u[:8], u[8:12], u[12:16], u[16:20], u[20:]), base64.URLEncoding.EncodeToString(b[:]), fmt.Sprintf("token=%d page_token=%d", i, i))
	}
	lines = append(lines, "password=os.Getenv(x)", "password=$PASSWORD", "password=%s", "password=<yours>", "password={{ .Values.password }}", "password=settings.DB_PASSWORD",
		"https://user:password@example.com/", "https://example.com:8080/a@b", "postgres://$USER:$PASS@host/", "Bearer bonds", "Basic authentication", "basic knowledge",
		"-----BEGIN CERTIFICATE-----\nMIIC0123456789abcdef0123456789\n-----END CERTIFICATE-----", "sk-learn", "api_key=None", "git@github.com:a/b.git", "http://[::1]:80/x@y")
	r := New(Environ([]string{"API_KEY=plain-key-1", "DB_PASSWORD=password", "AUTH_MODE=required", "SECRET_NAME=/usr", "USE_TOKEN=true", "KEY=localhost"}))
	changed := 0
	for _, l := range lines {
		if got := r.Text(l); got != l {
			if changed++; changed < 20 {
				t.Errorf("%q became %q", l, got)
			}
		}
	}
	if changed > 0 {
		t.Errorf("%d of %d lines were changed", changed, len(lines))
	}
}

// What is found in the strings of a JSON value is also found in the value as it is written, which is looked at first.
func FuzzJSON(f *testing.F) {
	for _, p := range planted {
		f.Add(p.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := New([]string{"known-value-☃"})
		text = strings.ToValidUTF8(text, "")
		if r.Text(text) == text {
			return
		}
		line := []byte(`{"s":"` + escape(text, true) + `"}`)
		if got := r.JSON(line, nil); string(got) == string(line) {
			t.Errorf("%s stays", line)
		}
	})
}

func BenchmarkText(b *testing.B) {
	line := strings.Repeat("func (s *Server) path(ctx context.Context) error { return fmt.Errorf(\"reach %s: %w\", s.url, err) } // https://example.com/a\n", 10)
	r := New(Environ([]string{"API_KEY=plain-key-1", "GITHUB_TOKEN=0123456789abcdef0123456789abcdef", "DB_PASSWORD=hunter2hunter2"}))
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		r.Text(line)
	}
}
