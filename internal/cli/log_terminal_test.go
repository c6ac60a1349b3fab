package cli

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"labhub.io/webservice-controller/internal/config"
	"labhub.io/webservice-controller/internal/term"
)

// record is a record at four minutes past twelve.
func record(level slog.Level, message string, args ...any) slog.Record {
	r := slog.NewRecord(time.Date(2026, 7, 1, 12, 4, 5, 0, time.UTC), level, message, 0)
	r.Add(args...)
	return r
}

// logged is what a person sees of a record on that screen.
func logged(t *testing.T, screen term.Screen, r slog.Record) string {
	t.Helper()
	var out bytes.Buffer
	h := &terminalHandler{out: &out, screen: func() term.Screen { return screen }}
	if err := h.Handle(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func changed(action, target, reason string) slog.Record {
	return record(slog.LevelInfo, "reconciled", "object", "crd-lab/checkout", "action", action, "target", target, "reason", reason)
}

const hostile = "\x1b[2J\u009b31m\a\b\u202e\r\nerror: mine"

// TestTheLogOnATerminal: each line is as it stands at 80 columns.
func TestTheLogOnATerminal(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		record slog.Record
		want   string
	}{
		"a creation": {
			changed("create", "configmap/checkout-desired", "the ConfigMap doesn't exist"),
			"12:04:05 created configmap crd-lab/checkout-desired: the ConfigMap doesn't exist\n",
		},
		"a change that is told in more than a line": {
			changed("update", "webservice/checkout", "spec.image is \"nginx:1.27\" and the file says \"nginx:1.28\""),
			"12:04:05 updated webservice crd-lab/checkout: spec.image is \"nginx:1.27\" and the\n         file says \"nginx:1.28\"\n",
		},
		"a deletion": {
			changed("delete", "webservice/checkout", "its file is gone"),
			"12:04:05 deleted webservice crd-lab/checkout: its file is gone\n",
		},
		"a hostile change": {
			changed("update", "webservice/checkout", hostile),
			"12:04:05 updated webservice crd-lab/checkout: " + `\x1b[2J\u009b31m\a\b\u202e error:` + "\n         mine\n",
		},
		"a new namespace": {
			changed("create", "namespace/crd-lab", "a file names it"),
			"12:04:05 created namespace crd-lab: a file names it\n",
		},
		"the definition": {
			record(slog.LevelInfo, "reconciled", "action", "create", "target", "crd/webservices.apps.labhub.io", "reason", "WebServices need it"),
			"12:04:05 created crd webservices.apps.labhub.io: WebServices need it\n",
		},
		"an object that waits": {
			record(slog.LevelInfo, "waits", "object", "crd-lab/checkout", "reason", "waits for crd-lab/db: it isn't there yet"),
			"12:04:05 crd-lab/checkout waits for crd-lab/db: it isn't there yet\n",
		},
		"an object that waits for time": {
			record(slog.LevelInfo, "waits", "object", "crd-lab/checkout", "reason", "its file is gone"),
			"12:04:05 crd-lab/checkout waits: its file is gone\n",
		},
		"a suspended object": {
			record(slog.LevelInfo, "suspended", "object", "crd-lab/checkout", "reason", "suspended by the annotation x"),
			"12:04:05 crd-lab/checkout is suspended by the annotation x\n",
		},
		"a clean-up": {
			record(slog.LevelInfo, "cleaned up", "object", "crd-lab/ephemeral", "removed", "configmap/ephemeral-desired", "left", []string{}, "reason", "it is being deleted"),
			"12:04:05 crd-lab/ephemeral: cleaned up, removed configmap/ephemeral-desired: it\n         is being deleted\n",
		},
		"news": {
			record(slog.LevelInfo, "serving http", "addr", "127.0.0.1:8080"),
			"12:04:05 serving http: 127.0.0.1:8080\n",
		},
		"a problem in a file": {
			record(slog.LevelWarn, "problem", "at", "crd-lab/checkout.yaml:4:9: spec.image is empty"),
			"12:04:05 warning: crd-lab/checkout.yaml:4:9: spec.image is empty\n",
		},
		"a failure, whole": {
			record(slog.LevelWarn, "failed", "object", "crd-lab/checkout", "err", errors.New("the API server can't be reached: connection refused"), "retry_in", 400*time.Millisecond),
			"12:04:05 warning: crd-lab/checkout: failed, retry in 400ms: the API server can't\n         be reached: connection refused\n",
		},
		"held deletions, with what to type": {
			record(slog.LevelWarn, "deletions are held", "count", 2, "first", "crd-lab/billing", "reason", "2 of 3 would go", "approve", "webservice-controller approve 4be4 --out out"),
			"12:04:05 warning: deletions are held, count 2, first crd-lab/billing: 2 of 3\n" +
				"         would go\n" +
				"         approve: webservice-controller approve 4be4 --out out\n",
		},
		"a hostile error": {
			record(slog.LevelError, "preparing the cluster failed", "err", errors.New(hostile)),
			"12:04:05 error: preparing the cluster failed: " + `\x1b[2J\u009b31m\a\b\u202e error:` + "\n         mine\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := logged(t, term.Screen{Terminal: true, Width: 80}, c.record)
			if got != c.want {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
			for line := range strings.Lines(got) {
				if n := term.Columns(strings.TrimSuffix(line, "\n")); n > 80 {
					t.Errorf("%d columns: %s", n, line)
				}
			}
		})
	}
}

// TestTheLogStandsOut: by colour, and by a word where there are none.
func TestTheLogStandsOut(t *testing.T) {
	t.Parallel()
	screen := term.Screen{Terminal: true, Width: 80, Colour: true}
	for name, c := range map[string]struct {
		record slog.Record
		want   string
	}{
		"a creation": {changed("create", "webservice/a", "b"), "\x1b[32mcreated\x1b[0m webservice crd-lab/a: b\n"},
		"a warning":  {record(slog.LevelWarn, "a"), "\x1b[33mwarning: a\x1b[0m\n"},
		"an error":   {record(slog.LevelError, "a"), "\x1b[31merror: a\x1b[0m\n"},
		"news":       {record(slog.LevelInfo, "a"), "a\n"},
		"a detail":   {record(slog.LevelDebug, "a"), "\x1b[2ma\x1b[0m\n"},
	} {
		if got, want := logged(t, screen, c.record), "\x1b[2m12:04:05\x1b[0m "+c.want; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestTheLogKeepsAttributesAndGroups(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	h := &terminalHandler{out: &out, screen: func() term.Screen { return term.Screen{} }, level: slog.LevelInfo}
	log := slog.New(h.WithAttrs([]slog.Attr{slog.String("object", "crd-lab/checkout")}).WithGroup("watch"))
	log.Info("restarted", "tries", 3)
	log.Debug("nobody asked for this")
	if got := out.String(); !strings.HasSuffix(got, " crd-lab/checkout: restarted, watch.tries 3\n") || strings.Count(got, "\n") != 1 {
		t.Errorf("%q", got)
	}
}

// TestTheLogForPrograms: in a file or a pipe it is key=value or JSON, and as safe.
func TestTheLogForPrograms(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{
		"text": `level=WARN msg=failing reason="\x1b[2J\u009b31m\a\b\u202e\r\nerror: mine"`,
		"json": `"level":"WARN","msg":"failing","reason":"\u001b[2J\u009b31m\u0007\u0008\u202e\r\nerror: mine"`,
	} {
		var out bytes.Buffer
		log := newLogger(newConsole(&Process{Stderr: &out}), config.Log{Level: "info", Format: format})
		log.Warn("failing", "reason", hostile)
		if got := out.String(); !strings.Contains(got, want) || strings.ContainsAny(got, "\x1b\u009b\u202e\a") {
			t.Errorf("%s: %q", format, got)
		}
	}
}

// settingFlags are the flags of the settings, as the command line has them.
func settingFlags(t *testing.T, args ...string) *pflag.FlagSet {
	t.Helper()
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	config.AddFlags(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return flags
}

func TestTheStartSummary(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	cfg, err := config.Load(settingFlags(t, "--source=/srv/files", "--source-name=lab", "--prune-after=10s", "--namespaces-only=crd-lab,web"), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := startSummary{version: "v9", cluster: "https://127.0.0.1:6443", cfg: &cfg}
	s.tell(&out, term.Screen{Terminal: true, Width: 50})
	const want = `webservice-controller v9
  source    /srv/files, as lab
  cluster   https://127.0.0.1:6443
  out       out
  settings  prune.after=10s (flag --prune-after)
            namespaces.only=crd-lab,web (flag
            --namespaces-only)
`
	if got := out.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
