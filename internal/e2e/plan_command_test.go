package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"labhub.io/webservice-controller/internal/labtest"
	"labhub.io/webservice-controller/internal/report"
	"labhub.io/webservice-controller/manifests"
)

// planFile is what plan prints as JSON.
type planFile struct {
	Schema  string         `json:"schema"`
	First   []planChange   `json:"first"`
	Summary report.Summary `json:"summary"`
	Items   []planItem     `json:"items"`

	Problems    []report.Problem `json:"problems"`
	Held        []report.Held    `json:"held"`
	HeldDigest  string           `json:"held_digest"`
	HeldCommand string           `json:"held_command"`
}

type planItem struct {
	report.Item
	Changes []planChange `json:"changes"`
}

type planChange struct {
	Action       string  `json:"action"`
	Target       string  `json:"target"`
	Step         string  `json:"step"`
	AfterSeconds float64 `json:"after_seconds"`
	DryRun       bool    `json:"dry_run"`
	Fields       []struct{ Path, From, To, By, Why string }
}

// plan runs `plan` on the lab's files, which must send nothing that changes
// anything and end with that exit code.
func (l *lab) plan(code int, args ...string) result {
	l.Helper()
	before, mark := l.states(), l.cluster.Audit().Mark(l)
	r := l.exec(append(append([]string{"plan"}, l.flags()...), args...)...)
	if r.code != code {
		l.Errorf("plan: exit code %d, want %d\n%s%s", r.code, code, r.stdout, r.stderr)
	}
	for _, request := range l.cluster.Audit().Requests(l, "webservice-controller/", mark) {
		dry := strings.Contains(request.URI, "dryRun=All") && slices.Contains(args, "--server")
		if request.IsWrite() && !dry || request.Verb == "watch" {
			l.Errorf("plan sent %s %s", request.Verb, request.URI)
		}
	}
	l.equal(before, l.states())
	return r
}

// planned is plan as JSON.
func (l *lab) planned(code int, args ...string) *planFile {
	l.Helper()
	r := l.plan(code, append([]string{"-o", "json"}, args...)...)
	var p planFile
	if err := json.Unmarshal([]byte(r.stdout), &p); err != nil {
		l.Fatalf("%v: %s%s", err, r.stdout, r.stderr)
	}
	return &p
}

// actions are those of all items, by name.
func (p *planFile) actions() map[string]string {
	actions := map[string]string{}
	for i := range p.Items {
		actions[p.Items[i].Name] = string(p.Items[i].Action)
	}
	return actions
}

// happened compares what was planned with the report of what was done.
func (l *lab) happened(p *planFile, r *report.Report) {
	l.Helper()
	said, did := map[string]string{}, map[string]string{}
	for i := range p.Items {
		said[p.Items[i].Namespace+"/"+p.Items[i].Name] = inShort(&p.Items[i].Item)
	}
	for i := range r.Items {
		did[r.Items[i].Namespace+"/"+r.Items[i].Name] = inShort(&r.Items[i])
	}
	for i := range p.Items {
		key := p.Items[i].Namespace + "/" + p.Items[i].Name
		if p.Items[i].ends() && did[key] == "" {
			// What somebody else has deleted is gone, so the report doesn't tell of it.
			delete(said, key)
			p.Summary.Total, p.Summary.Delete = p.Summary.Total-1, p.Summary.Delete-1
		}
	}
	for key, text := range said {
		if did[key] != text {
			l.Errorf("%s\nplan said %s\nonce did  %s", key, text, did[key])
		}
	}
	for key := range did {
		if said[key] == "" {
			l.Errorf("plan said nothing of %s: %s", key, did[key])
		}
	}
	if p.Summary != r.Summary {
		l.Errorf("plan sums up\n%+v, and once\n%+v", p.Summary, r.Summary)
	}
	if !slices.Equal(p.Held, r.Held) || p.HeldDigest != r.HeldDigest || p.HeldCommand != r.HeldCommand {
		l.Errorf("plan holds %+v\n%s, and once %+v\n%s", p.Held, p.HeldCommand, r.Held, r.HeldCommand)
	}
	if !slices.Equal(p.Problems, r.Problems) {
		l.Errorf("plan has the problems %+v, and once %+v", p.Problems, r.Problems)
	}
}

// ends is true for an object that somebody else has deleted, and that only waits for us.
func (i *planItem) ends() bool {
	steps := make([]string, 0, len(i.Changes))
	for _, c := range i.Changes {
		steps = append(steps, c.Step)
	}
	return i.Requeue == nil && slices.Contains(steps, "drop the finalizer") &&
		!slices.Contains(steps, "delete the WebService") && !slices.Contains(steps, "apply the WebService")
}

// inShort is what plan and once must agree in. How far the object has come that another
// waits for is only known as of that one's last turn.
func inShort(i *report.Item) string {
	reason := i.Reason
	if strings.HasPrefix(reason, "waits for ") {
		reason, _, _ = strings.Cut(reason, ":")
	}
	return fmt.Sprintf("%s %s: %s (generation %d, observed %d, error %t; %s; before %s, %s)", i.Action, i.Target, reason,
		i.Generation, i.ObservedGeneration, i.Failed(), i.Source, i.ResourceVersions.WebService.Before, i.ResourceVersions.ConfigMap.Before)
}

func TestPlanOnAFreshCluster(t *testing.T) {
	l := newLabOn(t, labtest.Start(t))
	l.namespace = "crd-lab"
	l.writeDesired("checkout", "billing", "search")

	first := l.exec(append([]string{"plan"}, l.flags()...)...)
	if first.code != 2 || !strings.Contains(first.stdout, "+ customresourcedefinition/webservices.apps.labhub.io will be created") ||
		!strings.Contains(first.stdout, "+ namespace/crd-lab will be created") ||
		!strings.Contains(first.stdout, "Plan: 3 to create, and first the CRD to install and 1 namespace to create\n") {
		t.Fatalf("exit code %d\n%s%s", first.code, first.stdout, first.stderr)
	}
	for _, request := range l.cluster.Audit().Requests(t, "webservice-controller/", 0) {
		if request.IsWrite() {
			t.Errorf("plan sent %s %s", request.Verb, request.URI)
		}
	}
	if _, err := os.Stat(l.out); err == nil {
		t.Error("plan made the out directory")
	}
	var p planFile
	r := l.exec(append([]string{"plan", "-o", "json", "--server"}, l.flags()...)...)
	l.must(json.Unmarshal([]byte(r.stdout), &p))
	if len(p.First) != 2 || !p.First[0].DryRun || !p.First[1].DryRun {
		t.Errorf("first of all %+v", p.First)
	}
	l.onceOK()
	l.happened(&p, l.lastReport())
	if r := l.plan(0); r.stdout != "No changes: 3 objects are as they should be.\n" || r.stderr != "" {
		t.Errorf("afterwards %q, %q", r.stdout, r.stderr)
	}
}

// planCase changes the files or the cluster under three converged objects: billing,
// checkout and search.
type planCase struct {
	name   string
	change func(l *lab)
	code   int
	// want are the actions that differ from noop.
	want map[string]string
	// tells are parts of the text.
	tells []string
	once  int
	// gone is the name of an object that isn't there in the end.
	gone string
}

func planCases() []planCase {
	return []planCase{
		{name: "a file that changes", code: 2, want: map[string]string{"billing": "update"},
			change: func(l *lab) { l.writeServices("nginx:2", "billing") },
			tells:  []string{`~ spec.image: "nginx:1" -> "nginx:2"`, `~ data.image: "nginx:1" -> "nginx:2"`, "Plan: 1 to update; 2 unchanged\n"}},
		{name: "a field that the file drops", code: 2, want: map[string]string{"billing": "update"},
			change: func(l *lab) {
				l.write(map[string]string{"billing.yaml": strings.ReplaceAll(service("billing", "nginx:1"), "  replicas: 2\n", "")})
			},
			tells: []string{"~ spec.replicas: 2 -> 1  # no longer in the file"}},
		{name: "drift by kubectl edit", code: 2, want: map[string]string{"checkout": "update"},
			change: func(l *lab) { l.kubectlEdit("s/nginx:1/nginx:hand/", "webservice", "checkout") },
			tells:  []string{`~ spec.image: "nginx:hand" -> "nginx:1"  # set by kubectl-edit`}},
		{name: "drift of a ConfigMap", code: 2, want: map[string]string{"checkout": "update"},
			change: func(l *lab) { l.kubectlEdit("s/nginx:1/nginx:hand/", "configmap", "checkout-desired") },
			tells:  []string{`~ data.image: "nginx:hand" -> "nginx:1"  # set by kubectl-edit`}},
		{name: "a ConfigMap that was deleted", code: 2, want: map[string]string{"checkout": "create"},
			change: func(l *lab) { l.remove(configmaps(), "checkout-desired") },
			tells:  []string{"checkout will get its ConfigMap"}},
		{name: "a file that goes", code: 2, want: map[string]string{"search": "delete"},
			change: func(l *lab) { l.must(os.Remove(filepath.Join(l.source, "search.yaml"))) },
			tells:  []string{"/search would be deleted after prune.after (1s)", "- webservice/search: its file is gone", "Plan: 1 to delete; 2 unchanged\n"}},
		{name: "a file that goes, of an object with our finalizer", code: 2, want: map[string]string{"search": "delete"},
			change: func(l *lab) {
				l.write(map[string]string{"search.yaml": service("search", "nginx:1", named)})
				l.onceOK()
				l.must(os.Remove(filepath.Join(l.source, "search.yaml")))
			},
			tells: []string{"- configmap/search-desired: the object is being deleted, and its ConfigMap goes first"}},
		{name: "all files but one go", code: 2, once: 4, want: map[string]string{"billing": "requeue", "search": "requeue", "checkout": "requeue", "new": "requeue"},
			change: func(l *lab) {
				for _, name := range []string{"billing", "search", "checkout"} {
					l.must(os.Remove(filepath.Join(l.source, name+".yaml")))
				}
				l.writeServices("nginx:1", "new")
			},
			tells: []string{"deletion is held", "3 deletions are held. To allow exactly that", " approve ", "waits for held deletions", "Plan: 3 held, 1 waiting\n"}},
		{name: "a broken file", code: 3, once: 3, want: map[string]string{"search": "requeue"},
			change: func(l *lab) {
				l.write(map[string]string{"billing.yaml": "apiVersion: apps.labhub.io/v1\nkind: WebService\nmetadata:\n  name: billing\nspec:\n  image: 7\n"})
				l.must(os.Remove(filepath.Join(l.source, "search.yaml")))
			},
			tells: []string{"! billing.yaml:6:10: ", "held: a problem in the source"}},
		{name: "a ConfigMap of somebody else", code: 1, once: 1, want: map[string]string{"taken": "requeue"},
			change: func(l *lab) {
				l.create(configmaps(), &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{Name: "taken-desired"}})
				l.writeServices("nginx:1", "taken")
			},
			tells: []string{"will be created, then fails", "a ConfigMap of that name belongs to someone else", "Plan: 1 to create, 1 failing; 3 unchanged\n"}},
		{name: "something that it depends on isn't there", code: 2, once: 5, want: map[string]string{"web": "requeue"},
			change: func(l *lab) {
				l.write(map[string]string{"web.yaml": service("web", "nginx:1", "annotations:", "  webservice.labhub.io/depends-on: nowhere")})
			},
			tells: []string{"/web will be created, then waits", "nowhere: it doesn't exist, and no file asks for it"}},
		{name: "one that depends on another that is new", code: 2, want: map[string]string{"a": "create", "b": "create"},
			change: func(l *lab) {
				l.write(map[string]string{"a.yaml": service("a", "nginx:1", "annotations:", "  webservice.labhub.io/depends-on: b")})
				l.writeServices("nginx:1", "b")
			}},
		{name: "an object that is being deleted", code: 2, gone: "ephemeral", want: map[string]string{"ephemeral": "delete"},
			change: func(l *lab) {
				l.makeEphemeral(cleanupFinalizer)
				l.edit(webservices(), "ephemeral", `{"metadata": {"labels": {"webservice.labhub.io/source": "`+l.name+`"}}}`)
				l.writeServices("nginx:1", "ephemeral")
				l.onceOK()
				l.must(os.Remove(filepath.Join(l.source, "ephemeral.yaml")))
				l.remove(webservices(), "ephemeral")
			},
			tells: []string{"/ephemeral is being deleted: it will be cleaned up", "- configmap/ephemeral-desired"}},
		{name: "an object that waits for another tool's finalizer", code: 2, once: 5, want: map[string]string{"checkout": "requeue"},
			change: func(l *lab) {
				l.letGo("checkout")
				l.finalize(webservices(), "checkout", hold)
				l.remove(webservices(), "checkout")
			},
			tells: []string{"/checkout waits", "waits for the finalizer " + hold}},
		{name: "what kubectl apply owns", code: 2, want: map[string]string{"checkout": "update"},
			change: func(l *lab) {
				text := strings.ReplaceAll(service("checkout", "nginx:1"), "metadata:\n", "metadata:\n  namespace: "+l.namespace+"\n  labels: {by: hand}\n")
				if _, stderr, code := l.cluster.KubectlExit(l, text, "apply", "-f", "-"); code != 0 {
					l.Fatal(stderr)
				}
			},
			tells: []string{"kubectl's client-side apply owns fields of it", "- metadata.labels[by]:"}},
		{name: "a suspended object", code: 0, want: map[string]string{},
			change: func(l *lab) {
				l.edit(webservices(), "checkout", `{"metadata": {"annotations": {"webservice.labhub.io/reconcile": "disabled"}}, "spec": {"image": "other"}}`)
			},
			tells: []string{"checkout is left alone", "No changes: 2 objects are as they should be, 1 suspended."}},
	}
}

// kubectlEdit edits an object as a person does: kubectl opens an editor.
func (l *lab) kubectlEdit(script, kind, name string) {
	l.Helper()
	editor := filepath.Join(l.TempDir(), "editor")
	l.must(os.WriteFile(editor, []byte("#!/bin/sh\nexec sed -i '"+script+"' \"$1\"\n"), 0o755))
	l.Setenv("KUBE_EDITOR", editor)
	l.cluster.Kubectl(l, "edit", kind, name, "-n", l.namespace)
}

// What plan says, by text and by JSON, is what once then does.
func TestPlanSaysWhatOnceDoes(t *testing.T) {
	for _, c := range planCases() {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t)
			l.writeServices("nginx:1", "billing", "checkout", "search")
			l.onceOK()
			c.change(l)
			const soon = "--prune-after=1s"
			text := l.plan(c.code, soon).stdout
			for _, part := range c.tells {
				if !strings.Contains(text, part) {
					t.Errorf("the plan doesn't tell %q:\n%s", part, text)
				}
			}
			p := l.planned(c.code, soon)
			got := p.actions()
			maps.DeleteFunc(got, func(_, action string) bool { return action == "noop" })
			if !maps.Equal(got, c.want) {
				t.Errorf("actions %v, want %v", got, c.want)
			}
			if server := l.planned(c.code, soon, "--server"); !maps.Equal(server.actions(), p.actions()) {
				t.Errorf("by dry runs %v, and by simulation %v", server.actions(), p.actions())
			}
			if r := l.once(soon, "--timeout=4s"); r.code != c.once {
				t.Errorf("once: exit code %d, want %d\n%s", r.code, c.once, r.stderr)
			}
			l.happened(p, l.lastReport())
			if c.gone != "" {
				if _, err := l.webservice(c.gone); !apierrors.IsNotFound(err) {
					t.Errorf("%s isn't gone: %v", c.gone, err)
				}
			}
		})
	}
}

func TestPlanOfAnObjectThatMovesToAnotherNamespace(t *testing.T) {
	l := newLab(t)
	l.writeServices("nginx:1", "billing", "checkout", "search")
	l.onceOK()
	there := l.namespace + "-next"
	l.dropNamespace(there)
	l.write(map[string]string{"checkout.yaml": service("checkout", "nginx:1", "namespace: "+there)})

	p := l.planned(2)
	var got []string
	for _, i := range p.Items {
		if i.Action != report.ActionNoop {
			got = append(got, fmt.Sprintf("%s %s/%s", i.Action, i.Namespace, i.Name))
		}
	}
	if want := []string{"delete " + l.namespace + "/checkout", "create " + there + "/checkout"}; !slices.Equal(got, want) {
		t.Errorf("items %q, want %q", got, want)
	}
	if len(p.First) != 1 || p.First[0].Target != "namespace/"+there || p.First[0].Action != "create" {
		t.Errorf("first of all %+v", p.First)
	}
	l.onceOK()
	l.happened(p, l.lastReport())
}

// A process that has gone without releasing the lease: whoever comes next, with an out
// directory of its own, takes it over, and deletes nothing for a while.
func TestPlanWhereTheLeaseWouldBeTakenOver(t *testing.T) {
	l := newLab(t)
	l.writeServices("nginx:1", "billing", "checkout", "search")
	l.onceOK()
	l.must(os.Remove(filepath.Join(l.source, "search.yaml")))
	l.abandonLease()

	p := l.planned(2)
	if got := p.actions()["search"]; got != "requeue" || len(p.Held) != 1 {
		t.Errorf("search: %s, held %+v", got, p.Held)
	}
	if r := l.once("--timeout=25s"); r.code != 4 {
		t.Errorf("once: exit code %d\n%s", r.code, r.stderr)
	}
	l.happened(p, l.lastReport())
}

// abandonLease makes the lease that of a process which has gone long ago.
func (l *lab) abandonLease() {
	l.Helper()
	leases := l.core.CoordinationV1().Leases(account)
	lease, err := leases.Get(l.Context(), "webservice-source-"+l.name, metav1.GetOptions{})
	l.must(err)
	lease.Spec.HolderIdentity = new("somebody_else")
	lease.Spec.RenewTime = &metav1.MicroTime{Time: time.Now().Add(-time.Hour)}
	lease.Spec.LeaseDurationSeconds = new(int32(1))
	_, err = leases.Update(l.Context(), lease, metav1.UpdateOptions{})
	l.must(err)
}

// Only the API server knows its policies: they show with --server.
func TestPlanWithTheServersWord(t *testing.T) {
	cluster := labtest.Start(t)
	l := newLabOn(t, cluster)
	l.writeServices("nginx:1", "billing", "checkout")
	l.onceOK()
	cluster.Apply(t, []byte(noLatest))
	l.writeServices("nginx:latest", "checkout")
	l.writeServices("nginx:2", "billing")

	if p := l.planned(2); p.Summary.Errors != 0 {
		t.Errorf("without the server: %+v", p.Summary)
	}
	labtest.Eventually(t, convergeLimit, func() error { // a policy takes a moment to count
		r := l.exec(append(append([]string{"plan"}, l.flags()...), "--server")...)
		if strings.Contains(r.stdout, "refused to apply the WebService") && strings.Contains(r.stdout, "latest is no version") {
			return nil
		}
		return fmt.Errorf("the plan doesn't say what is refused: %s%s", r.stdout, r.stderr)
	})
	p := l.planned(1, "--server")
	if got := p.actions(); got["billing"] != "update" || got["checkout"] != "requeue" {
		t.Errorf("actions %v", got)
	}
	l.once("--timeout=2s")
	l.happened(p, l.lastReport())
}

const noLatest = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: no-latest
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - {apiGroups: [apps.labhub.io], apiVersions: [v1], resources: [webservices], operations: [CREATE, UPDATE]}
  validations:
  - {expression: "!object.spec.image.endsWith(':latest')", message: "latest is no version"}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: no-latest
spec:
  policyName: no-latest
  validationActions: [Deny]
`

func TestPlanWhereNothingCanBePlanned(t *testing.T) {
	shared.Apply(t, manifests.CRD()) // else there is always that to do
	l := newLab(t)
	for _, c := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"the source is missing", []string{"--source=" + filepath.Join(l.home, "nowhere")}, 5, "doesn't exist"},
		{"the source is empty", nil, 5, "holds no WebService"},
		{"an empty source that is meant", []string{"--source-allow-empty"}, 0, ""},
		{"the API server is away", []string{"--source-allow-empty", "--kubeconfig=" + l.unreachable()}, 1, "can't be reached"},
		{"no such context", []string{"--context=nowhere"}, 64, "nowhere"},
		{"no such output", []string{"-o", "yaml"}, 64, "write text or json"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := l.exec(append(append([]string{"plan"}, l.flags()...), c.args...)...)
			if lines := r.errorLines(); r.code != c.code || (c.says != "") != (len(lines) == 1) || c.says != "" && !strings.Contains(lines[0], c.says) {
				t.Errorf("exit code %d\n%s%s", r.code, r.stdout, r.stderr)
			}
		})
	}
}

// thinCRD is one of somebody else, with less than files state.
const thinCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: webservices.apps.labhub.io}
spec:
  group: apps.labhub.io
  scope: Namespaced
  names: {plural: webservices, singular: webservice, kind: WebService}
  versions:
    - name: v1
      served: true
      storage: true
      subresources: {status: {}}
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec: {type: object, properties: {image: {type: string}}}
            status: {type: object}
`

// TestPlanOnACRDThatLacksFields: plan and once say the same of what can't be written,
// name the fields, and send no write of it.
func TestPlanOnACRDThatLacksFields(t *testing.T) {
	l := newLabOn(t, labtest.Start(t))
	l.namespace = "crd-lab"
	l.cluster.Apply(t, []byte(thinCRD))
	l.writeDesired("checkout")
	for _, command := range []string{"plan", "once"} {
		args := append([]string{command}, l.flags()...)
		if command == "once" {
			args = append(args, "--timeout", "5s")
		}
		r := l.exec(args...)
		const want = "the CRD webservices.apps.labhub.io doesn't declare spec.replicas, spec.tier: add them to it, as in manifests/crd"
		if r.code != 1 || !strings.Contains(r.stdout+r.stderr, want) && !strings.Contains(oneLine(r.stdout), want) {
			t.Errorf("%s: exit code %d\n%s%s", command, r.code, r.stdout, r.stderr)
		}
	}
	for _, request := range l.cluster.Audit().Requests(t, "webservice-controller/", 0) {
		if request.IsWrite() && strings.Contains(request.URI, "/webservices/") {
			t.Errorf("sent %s %s", request.Verb, request.URI)
		}
	}
}

// oneLine is text without its line breaks and what they are indented by.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
