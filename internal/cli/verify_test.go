package cli

import (
	"bytes"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/internal/report"
)

// versioned is an item with the versions that a pass left.
func versioned(name, webservice, configmap string) report.Item {
	return report.Item{Namespace: "crd-lab", Name: name, ResourceVersions: report.ResourceVersions{
		WebService: report.Versions{After: webservice}, ConfigMap: report.Versions{After: configmap},
	}}
}

func accounts(items ...report.Item) *report.Report { return &report.Report{Items: items} }

// TestProof: what is printed of two passes, and how the command ends.
func TestProof(t *testing.T) {
	t.Parallel()
	drift := plan.Decision{
		Action: plan.Update, Target: plan.ConfigMap, Reason: "data.tier is \"\x1b[31m\" and the spec says \"dev\"",
		Step: plan.Step{Kind: plan.StepUpdateChild},
	}
	for name, c := range map[string]struct {
		before, after *report.Report
		wanted        map[plan.Key]plan.Decision
		stdout, err   string
	}{
		"nothing changed": {
			before: accounts(versioned("billing", "10", "11"), versioned("checkout", "12", "")),
			after:  accounts(versioned("billing", "10", "11"), versioned("checkout", "12", "")),
			stdout: `
KIND        NAMESPACE  NAME             BEFORE  AFTER  SECOND PASS
webservice  crd-lab    billing          10      10     unchanged
configmap   crd-lab    billing-desired  11      11     unchanged
webservice  crd-lab    checkout         12      12     unchanged

requests of the second pass: 0 reads, 0 writes (beside its own lists)
proven: a second pass over 2 objects changed nothing and sent 0 writes
`,
		},
		"the first pass deleted one": {
			before: accounts(versioned("billing", "", ""), versioned("checkout", "12", "13")),
			after:  accounts(versioned("checkout", "12", "13")),
			stdout: `
KIND        NAMESPACE  NAME              BEFORE  AFTER  SECOND PASS
webservice  crd-lab    checkout          12      12     unchanged
configmap   crd-lab    checkout-desired  13      13     unchanged

requests of the second pass: 0 reads, 0 writes (beside its own lists)
proven: a second pass over 1 object changed nothing and sent 0 writes
`,
		},
		"a write is wanted again": {
			before: accounts(versioned("checkout", "12", "13")),
			after:  accounts(versioned("checkout", "12", "17")),
			wanted: map[plan.Key]plan.Decision{{Namespace: "crd-lab", Name: "checkout"}: drift},
			stdout: `
KIND        NAMESPACE  NAME              BEFORE  AFTER  SECOND PASS
webservice  crd-lab    checkout          12      12     unchanged
configmap   crd-lab    checkout-desired  13      17     would update it: data.tier is "\x1b[31m" and the spec says "dev"

requests of the second pass: 0 reads, 0 writes (beside its own lists)
not proven: a second pass over 1 object would write to 1 of them
`,
			err: "not proven: of configmap crd-lab/checkout-desired, the second pass would update it: data.tier",
		},
		"somebody else writes": {
			before: accounts(versioned("checkout", "12", "13")),
			after:  accounts(versioned("checkout", "15", "13")),
			stdout: `
KIND        NAMESPACE  NAME              BEFORE  AFTER  SECOND PASS
webservice  crd-lab    checkout          12      15     changed by somebody else
configmap   crd-lab    checkout-desired  13      13     unchanged

requests of the second pass: 0 reads, 0 writes (beside its own lists)
not proven: a second pass over 1 object sent 0 writes, and yet 1 of their versions moved
`,
			err: "kubectl get webservice checkout -n crd-lab -o yaml --show-managed-fields",
		},
		"one came and one went": {
			before: accounts(versioned("billing", "10", "")),
			after:  accounts(versioned("search", "20", "")),
			stdout: `
KIND        NAMESPACE  NAME     BEFORE  AFTER  SECOND PASS
webservice  crd-lab    billing  10      -      changed by somebody else
webservice  crd-lab    search   -       20     changed by somebody else

requests of the second pass: 0 reads, 0 writes (beside its own lists)
not proven: a second pass over 2 objects sent 0 writes, and yet 2 of their versions moved
`,
			err: "not proven: somebody else changed webservice crd-lab/billing during the proof",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var stdout bytes.Buffer
			v := &verification{app: &app{process: &Process{Stdout: &stdout}}, second: &witness{wanted: c.wanted}, before: c.before, after: c.after}
			p := v.prove()
			if err := v.tell(p); err != nil {
				t.Fatal(err)
			}
			if got := stdout.String(); got != strings.TrimPrefix(c.stdout, "\n") {
				t.Errorf("got\n%swant%s", got, c.stdout)
			}
			switch err := p.err(); {
			case c.err == "" && err != nil:
				t.Error(err)
			case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
				t.Errorf("the error is %v, want one that says %s", err, c.err)
			}
		})
	}
}

// TestTheProofAsJSON: hostile text of the cluster stays text.
func TestTheProofAsJSON(t *testing.T) {
	t.Parallel()
	p := &proof{requests: report.Requests{Reads: 1}, objects: 1, rows: []proofRow{
		{kind: kindWebService, namespace: "crd-lab", name: "checkout", before: "12", after: "12"},
		{kind: kindConfigMap, namespace: "crd-lab", name: "checkout-desired", before: "13", wanted: "create it: \x1b[2J"},
	}}
	var out bytes.Buffer
	if err := p.json(&out); err != nil {
		t.Fatal(err)
	}
	const want = `{
  "schema": "webservice-controller/verify/v1",
  "proven": false,
  "verdict": "not proven: a second pass over 1 object would write to 1 of them",
  "requests": {
    "reads": 1,
    "writes": 0,
    "events": 0
  },
  "objects": [
    {
      "kind": "webservice",
      "namespace": "crd-lab",
      "name": "checkout",
      "before": "12",
      "after": "12"
    },
    {
      "kind": "configmap",
      "namespace": "crd-lab",
      "name": "checkout-desired",
      "before": "13",
      "after": "",
      "wanted": "create it: \u001b[2J"
    }
  ]
}
`
	if got := out.String(); got != want {
		t.Errorf("got\n%s", got)
	}
}

// seenBy is what a pass looks at when it decides about checkout.
func seenBy(known bool, data map[string]string) *plan.Input {
	replicas, isController := int32(3), true
	in := &plan.Input{Key: plan.Key{Namespace: "crd-lab", Name: "checkout"}, Policy: &plan.Policy{}, Known: known}
	in.Live = plan.Live{WebService: &v1.WebService{
		ObjectMeta: metav1.ObjectMeta{Namespace: "crd-lab", Name: "checkout", UID: "u1", ResourceVersion: "7"},
		Spec:       v1.WebServiceSpec{Image: "nginx:1.27", Replicas: &replicas, Tier: "dev"},
	}}
	if data != nil {
		in.Child = plan.Child{
			UID: "u2", ResourceVersion: "9", Data: data, Labels: map[string]string{v1.ManagedByLabel: v1.Manager},
			Owners: []metav1.OwnerReference{{APIVersion: v1.APIVersion, Kind: v1.Kind, Name: "checkout", UID: "u1", Controller: &isController}},
		}
	}
	return in
}

// TestWitness: what is kept of the decisions of a pass.
func TestWitness(t *testing.T) {
	t.Parallel()
	inStep := map[string]string{"image": "nginx:1.27", "replicas": "3", "tier": "dev"}
	create := plan.Decision{Action: plan.Create, Target: plan.ConfigMap, Reason: "it doesn't exist", Step: plan.Step{Kind: plan.StepCreateChild}}
	apply := plan.Decision{Action: plan.Update, Target: plan.WebService, Reason: "spec.image differs", Step: plan.Step{Kind: plan.StepApply}}
	status := plan.Decision{Action: plan.Update, Target: plan.WebService, Reason: "the status is old", Step: plan.Step{Kind: plan.StepWriteStatus}}
	done := plan.Decision{Action: plan.Noop, Reason: "all is as it should be"}
	waits := plan.Decision{Action: plan.Requeue, Reason: "waits for crd-lab/database"}
	type told struct {
		in *plan.Input
		d  plan.Decision
	}
	for name, c := range map[string]struct {
		told          []told
		child, reason string // of the decision about the ConfigMap
		writes        bool
	}{
		"a fresh lab": {
			[]told{{seenBy(true, nil), create}, {seenBy(true, inStep), status}, {seenBy(true, inStep), done}},
			"create", "it doesn't exist", true,
		},
		"a converged one": {
			[]told{{seenBy(true, inStep), done}}, "noop", "checkout-desired says what the spec says", false,
		},
		"only the status is old": {
			[]told{{seenBy(true, inStep), status}, {seenBy(true, inStep), done}},
			"noop", "checkout-desired says what the spec says", true,
		},
		"the object comes first": {
			[]told{{seenBy(true, inStep), apply}, {seenBy(true, nil), create}}, "create", "it doesn't exist", true,
		},
		"what was decided without the files doesn't count": {
			[]told{{seenBy(false, inStep), status}, {seenBy(true, inStep), done}},
			"noop", "checkout-desired says what the spec says", false,
		},
		"nothing could be decided about the ConfigMap": {
			[]told{{seenBy(true, nil), waits}}, "requeue", "waits for crd-lab/database", false,
		},
	} {
		w := newWitness(plan.Key{Namespace: "crd-lab", Name: "checkout"})
		for _, each := range c.told {
			w.Decided(each.in, &each.d)
		}
		s := w.aboutChild()
		if string(s.decision.Action) != c.child || s.decision.Reason != c.reason {
			t.Errorf("%s: %s: %s, want %s: %s", name, s.decision.Action, s.decision.Reason, c.child, c.reason)
		}
		if w.wantsToWrite() != c.writes {
			t.Errorf("%s: it wants to write: %v, want %v", name, !c.writes, c.writes)
		}
	}
}

// TestAPassThatIsRefutedEndsSoon: once every object was judged, and not before,
// since all that would be written is listed.
func TestAPassThatIsRefutedEndsSoon(t *testing.T) {
	t.Parallel()
	ended := false
	w := newWitness(plan.Key{})
	w.enough = func() { ended = true }
	w.await(accounts(versioned("billing", "10", "11"), versioned("checkout", "12", ""), versioned("deleted", "", "")))

	create := plan.Decision{Action: plan.Create, Target: plan.ConfigMap, Step: plan.Step{Kind: plan.StepCreateChild}}
	w.Decided(seenBy(true, nil), &create)
	if ended {
		t.Error("it ended before billing was judged")
	}
	other := seenBy(true, nil)
	other.Key.Name = "billing"
	w.Decided(other, &plan.Decision{Action: plan.Noop})
	if !ended {
		t.Error("it goes on though all are judged")
	}
}
