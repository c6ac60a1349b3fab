package report_test

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"labhub.io/webservice-controller/internal/report"
)

// full is a report in which every field has a value.
func full() *report.Report {
	berlin := time.FixedZone("CET", 3600)
	r := &report.Report{
		Cycle: 7, Trigger: report.TriggerFiles,
		Started:           time.Date(2026, 3, 1, 13, 0, 0, 123456789, berlin),
		ControllerVersion: "v0.1.0", Role: report.RoleActive, Holder: "pod-1_0011223344556677",
		WaitingFor: "crd-lab/search: its namespace is missing",
		Source: report.Source{
			Path: "desired", Name: "default", Revision: "9fceb02", Digest: "sha256:00", Complete: true,
			Files: 4, Objects: 3, Skipped: 1, WatchMode: "polling", WatchReason: "too many watches",
			LastScan: time.Date(2026, 3, 1, 11, 59, 59, 0, time.UTC), ScanIntervalSeconds: 30,
		},
		Requests: report.Requests{Reads: 1, Writes: 2, Events: 3},
		Items: []report.Item{
			{
				Namespace: "crd-lab", Name: "checkout", Action: report.ActionCreate,
				Reason: "no ConfigMap yet", Target: "configmap/checkout-desired",
				Source: "crd-lab/checkout.yaml:1", Generation: 1, ObservedGeneration: 1,
				ResourceVersions: report.ResourceVersions{
					WebService: report.Versions{Before: "10", After: "12"},
					ConfigMap:  report.Versions{Before: "", After: "11"},
				},
			},
			{
				Namespace: "crd-lab", Name: "search", Action: report.ActionRequeue,
				Reason: "namespace <crd-lab> & more", Target: "webservice/search",
				Requeue: &report.Requeue{AfterSeconds: 3, IsError: true},
				Error:   "namespaces \"crd-lab\" not found",
			},
			{
				Namespace: "crd-lab", Name: "waiting", Action: report.ActionRequeue,
				Reason: "not ready yet", Target: "webservice/waiting",
				Requeue: &report.Requeue{AfterSeconds: 1},
			},
		},
		Problems:    []report.Problem{{Path: "a.yaml", Document: 1, Line: 2, Column: 3, Field: "spec.image", Message: "is empty"}},
		Warnings:    []report.Problem{{Path: "b.yaml", Document: 1, Line: 4, Field: "metadata.ownerReferences", Message: "is dropped"}},
		Held:        []report.Held{{Namespace: "crd-lab", Name: "gone", Reason: "it is all that we own"}},
		HeldDigest:  "abc",
		HeldCommand: "webservice-controller approve abc",
	}
	r.Summary = report.Summarize(r.Items, r.Held, r.Problems)
	r.Finish(r.Started.Add(1500*time.Millisecond + 9*time.Microsecond))
	return r
}

func TestGolden(t *testing.T) {
	update := os.Getenv("UPDATE_GOLDEN") != ""
	for name, r := range map[string]*report.Report{
		"full":  full(),
		"start": {Trigger: report.TriggerStart, Started: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Role: report.RoleStandby, WaitingFor: "the first scan"},
	} {
		t.Run(name, func(t *testing.T) {
			var got bytes.Buffer
			if err := report.Encode(&got, r); err != nil {
				t.Fatal(err)
			}
			path := "testdata/" + name + ".json"
			if update {
				if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got.String() != string(want) {
				t.Errorf("%s differs:\n%s", path, got.String())
			}
		})
	}
}

// What is written can be read back, by this version too.
func TestRoundTrip(t *testing.T) {
	var first, second bytes.Buffer
	if err := report.Encode(&first, full()); err != nil {
		t.Fatal(err)
	}
	text := first.String()
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	var back report.Report
	if err := decoder.Decode(&back); err != nil {
		t.Fatal(err)
	}
	if err := report.Encode(&second, &back); err != nil {
		t.Fatal(err)
	}
	if second.String() != text {
		t.Errorf("read back and written again:\n%s", second.String())
	}
}

func TestEncodeLeavesTheReportAlone(t *testing.T) {
	r, want := full(), full()
	r.Warnings, want.Warnings = nil, nil
	if err := report.Encode(io.Discard, r); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(r, want) {
		t.Errorf("got %+v\nwant %+v", r, want)
	}
}

func TestFinish(t *testing.T) {
	r := &report.Report{Started: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	r.Finish(r.Started)
	var b bytes.Buffer
	if err := report.Encode(&b, r); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{`"finished": "2026-03-01T12:00:00Z"`, `"duration_seconds": 0,`} {
		if !strings.Contains(b.String(), line) {
			t.Errorf("a cycle of no length lacks %s:\n%s", line, b.String())
		}
	}
}

func TestSummarize(t *testing.T) {
	failed, waits := &report.Requeue{AfterSeconds: 1, IsError: true}, &report.Requeue{AfterSeconds: 1}
	items := []report.Item{
		{Action: report.ActionCreate},
		{Action: report.ActionUpdate}, {Action: report.ActionUpdate},
		{Action: report.ActionDelete},
		{Action: report.ActionNoop}, {Action: report.ActionNoop, Suspended: true}, {Action: report.ActionNoop},
		{Action: report.ActionRequeue, Requeue: waits},
		{Action: report.ActionRequeue, Requeue: failed}, {Action: report.ActionRequeue, Requeue: failed},
	}
	got := report.Summarize(items, make([]report.Held, 4), make([]report.Problem, 5))
	want := report.Summary{Total: 10, Create: 1, Update: 2, Delete: 1, Noop: 3, Requeue: 3,
		Errors: 2, Suspended: 1, Held: 4, Problems: 5}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := report.Summarize(nil, nil, nil); got != (report.Summary{}) {
		t.Errorf("of nothing: %+v", got)
	}
}
