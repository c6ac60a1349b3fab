package arch

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "labhub.io/webservice-controller/"

// row is what a package may import beside the standard library: packages of
// ours by their path in the module, others by the path they begin with.
type row struct{ pkg, ours, outside string }

// table is the one of ARCHITECTURE.md. "all" is every package above it.
func table() []row {
	return []row{
		{"internal/api/v1", "", "k8s.io/apimachinery"},
		{"internal/near", "", ""},
		{"internal/config", "internal/near", "github.com/spf13/viper github.com/spf13/pflag go.yaml.in/yaml/v3"},
		{"internal/source", "internal/api/v1 internal/near", "k8s.io/apimachinery sigs.k8s.io/yaml go.yaml.in/yaml github.com/fsnotify/fsnotify"},
		{"internal/plan", "internal/api/v1", "k8s.io/apimachinery"},
		{"internal/cycle", "", ""},
		{"internal/report", "", ""},
		{"internal/kube", "internal/api/v1 internal/plan manifests", "k8s.io/client-go k8s.io/api k8s.io/apimachinery"},
		{"internal/engine", "internal/api/v1 internal/source internal/plan internal/cycle internal/report",
			"k8s.io/client-go/util/workqueue k8s.io/apimachinery"},
		{"internal/metrics", "internal/report", "github.com/prometheus/client_golang"},
		{"internal/evidence", "internal/api/v1 internal/plan internal/report", "k8s.io/apimachinery"},
		{"internal/export", "internal/api/v1 internal/source", "k8s.io/apimachinery sigs.k8s.io/yaml"},
		{"internal/web", "internal/report", "golang.org/x/net/netutil"},
		{"internal/preview", "internal/api/v1 internal/source internal/plan internal/report internal/engine", ""},
		{"manifests", "", ""},
		{"internal/install", "manifests", "go.yaml.in/yaml/v3"},
		{"internal/term", "", "golang.org/x/term golang.org/x/text/width"},
		{"internal/cli", "all", "github.com/spf13/cobra github.com/spf13/pflag k8s.io/klog k8s.io/apimachinery"},
		{"cmd/webservice-controller", "internal/cli", ""},

		// For tests alone: no row names them.
		{"internal/labtest", "internal/api/v1 manifests", "k8s.io/client-go k8s.io/api k8s.io/apimachinery sigs.k8s.io/yaml golang.org/x/sys"},
		{"internal/browser", "", "github.com/chromedp/chromedp github.com/chromedp/cdproto"},
		{"internal/arch", "", ""},
		{"internal/e2e", "", ""},
		{"internal/walk", "", ""},
		{"internal/bench", "", ""},
		{"internal/bench/bareloop", "internal/api/v1", "k8s.io/client-go k8s.io/api k8s.io/apimachinery"},
	}
}

// pure packages decide, and do nothing else: no files, no network, no logger.
func pure() []string { return []string{"internal/plan", "internal/cycle"} }

func impure() []string {
	return []string{"context", "io/fs", "log", "log/slog", "math/rand", "math/rand/v2", "net", "net/http", "os", "os/exec", "syscall"}
}

// imports lists each package of the module, by its path in it, with its direct
// imports, tests aside.
func imports(t *testing.T) map[string][]string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, module+"...")
	cmd.Stderr = t.Output()
	output, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	list := map[string][]string{}
	for line := range strings.Lines(string(output)) {
		fields := strings.Fields(line)
		list[strings.TrimPrefix(fields[0], module)] = fields[1:]
	}
	return list
}

func TestImports(t *testing.T) {
	rows := map[string]row{}
	var above []string
	for _, r := range table() {
		if r.ours == "all" {
			r.ours = strings.Join(above, " ")
		}
		above = append(above, r.pkg)
		rows[r.pkg] = r
	}
	for pkg, paths := range imports(t) {
		r, known := rows[pkg]
		if !known {
			t.Errorf("%s isn't in the table", pkg)
			continue
		}
		for _, path := range paths {
			if !r.allows(path) {
				t.Errorf("%s may not import %s", pkg, path)
			}
		}
	}
}

func TestPurePackages(t *testing.T) {
	list := imports(t)
	for _, pkg := range pure() {
		for _, path := range list[pkg] {
			if slices.Contains(impure(), path) {
				t.Errorf("%s decides, and may not import %s", pkg, path)
			}
		}
	}
}

func (r row) allows(path string) bool {
	if ours, ok := strings.CutPrefix(path, module); ok {
		return slices.Contains(strings.Fields(r.ours), ours)
	}
	first, _, _ := strings.Cut(path, "/")
	if !strings.Contains(first, ".") {
		return true // the standard library
	}
	return slices.ContainsFunc(strings.Fields(r.outside), func(prefix string) bool {
		return path == prefix || strings.HasPrefix(path, prefix+"/")
	})
}

func TestAllows(t *testing.T) {
	r := row{ours: "internal/plan", outside: "k8s.io/api"}
	for path, want := range map[string]bool{
		"net/http":                true,
		module + "internal/plan":  true,
		module + "internal/plan2": false,
		module + "internal":       false,
		"k8s.io/api":              true,
		"k8s.io/api/core/v1":      true,
		"k8s.io/apimachinery":     false,
		"k8s.io":                  false,
	} {
		if got := r.allows(path); got != want {
			t.Errorf("%s allowed: %v, want %v", path, got, want)
		}
	}
}
