package plan

import (
	"maps"
	"slices"
	"testing"

	v1 "labhub.io/webservice-controller/internal/api/v1"
)

// TestRecovery takes every combination to its verdict, then takes away whatever
// stood in the way. What was written or refused before must not keep the object
// from getting well, nor from being mended when somebody then spoils it without
// a new generation.
func TestRecovery(t *testing.T) {
	t.Parallel()
	forAll(t, func(t *testing.T, s situation, start Input) []StepKind {
		if s.namespace == nsUnknown || s.status != noStatus && (s.status != conflictStatus || s.extra != plain) {
			return nil // nothing that others don't have
		}
		w, steps := walk(t, s, start)
		w.heal()
		wantWell(w, s)
		if w.in.Live.Exists() && w.in.file() != nil && !t.Failed() {
			w.spoil()
			wantWell(w, s)
		}
		if t.Failed() {
			t.Logf("the combination %+v, after the steps %v", s, steps)
		}
		return steps
	})
}

// heal is what the engine sees when all obstacles go.
func (w *world) heal() {
	if b := w.server; b.mutatesSpec || b.mutatesChild || b.dropsStatus || b.keepsFinalizer || b.keepsClientSide {
		w.memory = Memory{} // the engine forgets when the file or the CRD changes
	}
	w.server = behaviour{}
	w.memory.Retry()
	w.in.CRD, w.in.Namespace = CRD{Ready: true}, NamespaceActive
	w.in.CreationHeld, w.in.Contested, w.in.Dependencies = false, nil, nil
	if w.in.Removal.State != RemovalKept {
		w.in.Removal = Removal{State: RemovalAllowed, Reason: "its file is gone"}
	}
	if c := &w.in.Child; c.Terminating || ClaimOf(c, name, liveUID) == ClaimForeign {
		*c = Child{}
	}
	w.later()
}

// spoil is what people do with kubectl: the child deleted, the status wiped, our
// label taken away. None of it moves the generation.
func (w *world) spoil() {
	ws := *w.in.Live.WebService
	if w.in.Live.Terminating() || w.in.Live.Suspended() || ws.Labels[sourceLabel] != sourceName {
		return
	}
	ws.Status, ws.ResourceVersion = v1.WebServiceStatus{}, w.version()
	ws.Labels = maps.Clone(ws.Labels)
	delete(ws.Labels, sourceLabel)
	w.in.Live.WebService, w.in.Live.Fields.Labels, w.in.Child = &ws, nil, Child{}
}

// wantWell walks on and wants the end that s has where nothing is in the way.
func wantWell(w *world, s situation) {
	w.t.Helper()
	s.crdAway = false
	if both(ours, says(removed))(s) && w.in.Live.Terminating() { // it has been deleted
		if s.live = cleaning; slices.Contains(w.in.Live.Finalizers, toolHold) {
			s.live = cleaningShared
		}
	}
	want, over := first(othersObjects, s)
	if s.live == cleaningShared {
		s.live = terminating // it waits for the other tool
	} else if isCleaned(s) && !over {
		s = cleaned(s)
	}
	if !over {
		want, over = first(untouchable, s)
	}
	if !over {
		want = ending{action: Noop}
	}
	d, _ := w.settle()
	if d.Action != want.action || d.Error != want.isError || d.Suspended != want.suspended {
		w.t.Errorf("all obstacles gone, the verdict is %s: %q; want %s", d.Action, d.Reason, want.action)
	}
	if written := w.in.Live.Exists() && want.action == Noop && !want.suspended; written && w.in.Live.BelongsTo(sourceName) == Ours {
		if c := readyOf(w.in.Live.Status.Conditions); c == nil || c.Status != "True" {
			w.t.Errorf("all obstacles gone, the condition is %+v", c)
		}
	}
}
