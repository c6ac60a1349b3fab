package kube

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/plan"
)

// unborn is a version that no object ever has: the store begins with it, empty. The
// server holds an object that is there against it, and makes one that isn't all the
// same, so it turns an apply into one that creates and does nothing else. Without it
// an object that somebody has made at the same moment would be taken, were it another
// source's.
const unborn = "1"

// applyBody is what is sent for StepApply: what the file states, and nothing
// else but the preconditions. An empty map or list in metadata would move the
// resourceVersion on every apply, so none is ever sent.
func applyBody(key plan.Key, step *plan.Step) ([]byte, error) {
	d := step.Desired
	meta := map[string]any{"name": key.Name, "namespace": key.Namespace}
	putMap(meta, "labels", d.Labels)
	putMap(meta, "annotations", d.Annotations)
	if len(d.Finalizers) > 0 {
		meta["finalizers"] = d.Finalizers
	}
	putString(meta, "uid", string(step.UID))
	putString(meta, "resourceVersion", cmp.Or(step.ResourceVersion, unborn))
	spec := map[string]any{"image": d.Image}
	if d.Replicas != nil {
		spec["replicas"] = *d.Replicas
	}
	if d.Tier != nil {
		spec["tier"] = *d.Tier
	}
	body, err := json.Marshal(map[string]any{
		"apiVersion": v1.APIVersion, "kind": v1.Kind, "metadata": meta, "spec": spec,
	})
	return yamlSafe(body), err
}

// yamlSafe escapes what JSON allows as it is and YAML doesn't: the server reads an
// apply's body as YAML, which refuses some characters and folds others.
func yamlSafe(text []byte) []byte {
	if !bytes.ContainsFunc(text, notInYAML) {
		return text
	}
	out := make([]byte, 0, len(text)+len(text)/4)
	for _, r := range string(text) {
		if notInYAML(r) {
			out = fmt.Appendf(out, `\u%04x`, r)
		} else {
			out = utf8.AppendRune(out, r)
		}
	}
	return out
}

// notInYAML: delete and the C1 controls, the byte order mark, and two that are no
// characters at all.
func notInYAML(r rune) bool {
	return r >= 0x7f && r <= 0x9f || r == 0xfeff || r == 0xfffe || r == 0xffff
}

func putMap(in map[string]any, name string, value map[string]string) {
	if len(value) > 0 {
		in[name] = value
	}
}

func putString(in map[string]any, name, value string) {
	if value != "" {
		in[name] = value
	}
}

// statusBody is the merge patch for StepWriteStatus.
func statusBody(step *plan.Step) ([]byte, error) {
	return json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": step.ResourceVersion},
		"status": map[string]any{
			"replicas":           step.Status.Replicas,
			"observedGeneration": step.Status.ObservedGeneration,
			"conditions":         step.Status.Conditions,
		},
	})
}

// finalizersBody is the merge patch for StepDropFinalizer. It replaces the list as
// a whole, so what keeps finalizers that came meanwhile is the version.
func finalizersBody(step *plan.Step) ([]byte, error) {
	return json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": step.ResourceVersion, "finalizers": step.Finalizers},
	})
}

// newChild is the object for StepCreateChild.
func newChild(key plan.Key, c *plan.ChildContent) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: key.Namespace, Name: v1.ChildName(key.Name),
			Labels: c.Labels, OwnerReferences: c.Owners,
		},
		Data: c.Data,
	}
}

// childPatch is the merge patch for StepUpdateChild. Labels that it doesn't name
// stay; owner references are replaced as a whole, so all are in it.
func childPatch(step *plan.Step) ([]byte, error) {
	c := step.Child
	data := make(map[string]any, len(c.Data)+len(c.DropData))
	for k, v := range c.Data {
		data[k] = v
	}
	for _, k := range c.DropData {
		data[k] = nil
	}
	return json.Marshal(map[string]any{
		"metadata": map[string]any{
			"uid": step.UID, "resourceVersion": step.ResourceVersion,
			"labels": c.Labels, "ownerReferences": c.Owners,
		},
		"data": data,
	})
}
