package e2e

import (
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"labhub.io/webservice-controller/internal/labtest"
)

// Other hands than the controller's: what people and tools do to its objects.

// kubectl runs kubectl as the admin, in the lab's namespace.
func (l *lab) kubectl(args ...string) {
	l.Helper()
	l.cluster.Kubectl(l, append([]string{"--namespace=" + l.namespace}, args...)...)
}

// kubectlReads is kubectl with something on its standard input.
func (l *lab) kubectlReads(stdin string, args ...string) {
	l.Helper()
	_, stderr, code := l.cluster.KubectlExit(l, stdin, append([]string{"--namespace=" + l.namespace}, args...)...)
	if code != 0 {
		l.Fatalf("kubectl %s: exit code %d: %s", strings.Join(args, " "), code, stderr)
	}
}

// sent are the requests of controllers in the lab's namespace since a mark, by
// the server's own record and in order. Tests beside this one don't show in it.
func (l *lab) sent(since labtest.Mark) []labtest.Request {
	l.Helper()
	var sent []labtest.Request
	for _, r := range l.cluster.Audit().Requests(l, "webservice-controller/", since) {
		if r.Namespace == l.namespace && r.Resource != "events" {
			sent = append(sent, r)
		}
	}
	return sent
}

// wantSent wants exactly these requests: "verb resource name code".
func (l *lab) wantSent(since labtest.Mark, want ...string) {
	l.Helper()
	var got []string
	for _, r := range l.sent(since) {
		what := strings.TrimSuffix(r.Resource+"/"+r.Subresource, "/")
		got = append(got, fmt.Sprintf("%s %s %s %d", r.Verb, what, r.Name, r.Code))
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		l.Errorf("the server was asked\n got %q\nwant %q", got, want)
	}
}

// goesBy lets time pass, for what must not happen meanwhile.
func (l *lab) goesBy(d time.Duration) {
	l.Helper()
	since := time.Now()
	labtest.Eventually(l, 2*d, func() error {
		if time.Since(since) < d {
			return errors.New("it isn't over yet")
		}
		return nil
	})
}

// bare is a file's text with nothing in it that the server would default.
func bare(name, metadata, spec string) string {
	return fmt.Sprintf("apiVersion: apps.labhub.io/v1\nkind: WebService\nmetadata: {name: %s%s}\nspec: {%s}\n", name, metadata, spec)
}

// deny makes the server refuse creating and updating objects of a resource in the
// lab's namespace unless they fit the expression. It returns when that is so, which
// it finds out by an object that doesn't fit.
func (l *lab) deny(group, resource, unless, message string, probe any) {
	l.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(probe)
	l.must(err)
	client := l.objects.Resource(schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}).Namespace(l.namespace)
	l.cluster.Apply(l, fmt.Appendf(nil, `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  failurePolicy: Fail
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[1]s}}
    resourceRules:
      - {apiGroups: ["%[2]s"], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [%[3]s]}
  validations:
    - {expression: "%[4]s", message: %[5]s}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec: {policyName: %[1]s, validationActions: [Deny]}
`, l.namespace, group, resource, unless, message))
	l.afterwards(l.allowUpdates)
	labtest.Eventually(l, convergeLimit, func() error {
		_, err := client.Create(l.Context(), &unstructured.Unstructured{Object: content}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil || says(err.Error(), message) != nil {
			return fmt.Errorf("the policy isn't at work yet: %w", err)
		}
		return nil
	})
}

// logs waits for a line of the daemon's log with every part. What a cycle did stands
// in the report only until the next one, which another test's objects may begin.
func (d *daemon) logs(parts ...string) {
	d.Helper()
	labtest.Eventually(d, convergeLimit, func() error {
		for line := range strings.Lines(d.stderr.String()) {
			if says(strings.ReplaceAll(line, `\"`, `"`), parts...) == nil {
				return nil
			}
		}
		return fmt.Errorf("no line of the log has %q", parts)
	})
}
