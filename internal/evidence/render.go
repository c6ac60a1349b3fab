package evidence

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	v1 "labhub.io/webservice-controller/internal/api/v1"
	"labhub.io/webservice-controller/internal/plan"
	"labhub.io/webservice-controller/internal/report"
)

const cleanupName = "cleanup.txt"

// observation is both sides of a decision: what the ConfigMap shall say and what
// it says. Either is null where there shall be none, and where there is none.
type observation struct {
	Desired *spec             `json:"desired"`
	Actual  map[string]string `json:"actual"`
}

type spec struct {
	Image    string `json:"image"`
	Replicas int32  `json:"replicas"`
	Tier     string `json:"tier"`
}

// observationOf takes what is desired from the live object, as the ConfigMap does;
// from the file while there is none.
func observationOf(in *plan.Input) *observation {
	o := &observation{Actual: in.Child.Data}
	if in.Child.Exists() && o.Actual == nil {
		o.Actual = map[string]string{}
	}
	live := in.Live
	switch {
	case live.Terminating():
		return o
	case !live.Exists() && (in.Broken || in.Desired == nil):
		return o
	case !live.Exists():
		live = fromFile(in.Desired)
	}
	o.Desired = &spec{Image: live.Spec.Image, Replicas: live.Replicas(), Tier: live.Tier()}
	return o
}

// fromFile is the object as the server will make it of the file.
func fromFile(d *plan.Desired) plan.Live {
	ws := &v1.WebService{Spec: v1.WebServiceSpec{Image: d.Image, Replicas: d.Replicas}}
	if d.Tier != nil {
		ws.Spec.Tier = *d.Tier
	}
	return plan.Live{WebService: ws}
}

type decision struct {
	Action plan.Action `json:"action"`
	Reason string      `json:"reason"`
	Target string      `json:"target"`
	*report.Requeue
}

func decisionOf(d *plan.Decision, key plan.Key) *decision {
	out := &decision{Action: d.Action, Reason: d.Reason, Target: d.Target.Name(key)}
	if d.Action == plan.Requeue {
		after := int64(math.Ceil(d.After.Seconds()))
		out.Requeue = &report.Requeue{AfterSeconds: max(1, after), IsError: d.Error}
	}
	return out
}

// terminating is the object as it was when it was first seen to be deleted: a file
// about that very object stays.
func terminating(live plan.Live) report.Render {
	return func(old []byte) ([]byte, error) {
		var there v1.WebService
		if json.Unmarshal(old, &there) == nil && there.UID == live.UID {
			return nil, nil
		}
		ws := *live.WebService
		ws.APIVersion, ws.Kind = v1.APIVersion, v1.Kind
		ws.ManagedFields = nil
		return report.JSON(&ws)(nil)
	}
}

// cleaned begins the account of what was cleaned up of an object.
func cleaned(key plan.Key, uid types.UID, at time.Time, removed string, left []string) report.Render {
	if removed == "" {
		removed = "nothing: there was no ConfigMap of ours"
	}
	others := "no other finalizer was on it"
	if len(left) > 0 {
		others = "the finalizers of others stay: " + strings.Join(left, ", ")
	}
	return lines(key, uid, at, "removed "+removed, "dropped the finalizer "+v1.CleanupFinalizer, others)
}

// gone ends the account of an object. Where it doesn't begin with a finalizer of
// ours, that is said.
func gone(key plan.Key, uid types.UID, at time.Time, cleaned bool) report.Render {
	return func(old []byte) ([]byte, error) {
		if cleaned || bytes.HasPrefix(old, []byte(head(key, uid))) {
			return lines(key, uid, at, "the object is gone")(old)
		}
		return lines(key, uid, at, "the object is gone; it had no finalizer of ours, and its ConfigMap goes by its owner reference")(old)
	}
}

// lines adds lines to the account of that object, and begins a new one where the
// file is about another.
func lines(key plan.Key, uid types.UID, at time.Time, texts ...string) report.Render {
	return func(old []byte) ([]byte, error) {
		out := []byte(head(key, uid))
		if bytes.HasPrefix(old, out) {
			out = bytes.Clone(old)
		}
		for _, text := range texts {
			out = fmt.Appendf(out, "%s %s\n", at.UTC().Format(time.RFC3339), text)
		}
		return out, nil
	}
}

func head(key plan.Key, uid types.UID) string {
	return fmt.Sprintf("WebService %s, uid %s\n", key, uid)
}
