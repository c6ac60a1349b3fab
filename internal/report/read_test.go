package report_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"labhub.io/webservice-controller/internal/report"
)

// What was written is what is read; the file has all that a reader needs.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	written := &report.Report{
		Schema: report.Schema, Cycle: 3, Trigger: report.TriggerFiles, Started: time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC),
		Source: report.Source{Name: "default"}, HeldDigest: digest("a"), HeldCommand: "approve it",
		Items: []report.Item{{
			Namespace: "crd-lab", Name: "search", Action: report.ActionRequeue,
			Requeue: &report.Requeue{AfterSeconds: 30},
		}},
		Held:     []report.Held{{Namespace: "crd-lab", Name: "search", Reason: "no file"}},
		Problems: []report.Problem{}, Warnings: []report.Problem{},
	}
	if err := (&report.Writer{Dir: dir}).Write(written); err != nil {
		t.Fatal(err)
	}
	got, err := report.Read(dir)
	if err != nil || !reflect.DeepEqual(got, written) {
		t.Errorf("%v, read %+v", err, got)
	}
}

func TestReadFails(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, report.FileName)
	var unread *report.ReadError
	if _, err := report.Read(dir); !errors.As(err, &unread) || !errors.Is(err, fs.ErrNotExist) || unread.Path != path {
		t.Errorf("no file: %v", err)
	}
	for name, text := range map[string]string{
		"empty": "", "half": `{"schema":`, "another format": `{"schema":"webservice-controller/report/v9"}`, "no report": `[]`,
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := report.Read(dir); !errors.As(err, &unread) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
