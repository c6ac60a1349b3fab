package plan

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Sizes above which deletions need a person's word: everything that we own, more
// than half of it where that is at least guardHalf, or more than guardShare where
// that is more than guardMany.
const (
	guardHalf  = 3
	guardMany  = 10
	guardShare = 0.30
	// leastScans is how many scans in a row must agree that an object is gone.
	leastScans = 2
)

// Absence is a live object of ours that no file names.
type Absence struct {
	Key Key
	UID types.UID
	// Since is when the first of Scans was taken; zero where Scans is 0.
	Since time.Time
	// Scans counts the scans in a row, each complete and without problems, that
	// didn't name the object.
	Scans int
}

// GuardInput is all that deletions as a whole are judged from.
type GuardInput struct {
	// Going counts the absences. Total counts all that we own and that isn't being
	// deleted, without what is absent and kept all the same: that can't make the
	// share smaller.
	Going, Total int
	// Fault is why the source can't be believed when it names an object no longer;
	// "" where it can.
	Fault string
	// Empty: the only fault is that the directory, read whole, has no WebService.
	Empty bool
	// Approved: a person has approved exactly the present absences.
	Approved bool
	// TakenOver is when the lease was taken from another holder; zero where it wasn't.
	TakenOver time.Time
	// Uncreated says which object of the source must be created before anything is
	// deleted, and what it waits for; "" where there is none.
	Uncreated string
	Now       time.Time
	Policy    *PrunePolicy
}

// PrunePolicy is what the settings say about deletions.
type PrunePolicy struct {
	Enabled bool
	// After is how long an object must be absent, AfterTakeover how long nothing is
	// deleted once the lease was taken from another holder.
	After, AfterTakeover time.Duration
	// Recheck is when a held deletion is looked at again.
	Recheck time.Duration
}

// Ruling is the guard's word on all deletions together. Of asks it about one.
type Ruling struct {
	// Size is the size rule that holds deletions, in words; "" where none does.
	// While it stands nothing is created either, so that creations can't make the
	// share smaller.
	Size string
	// Approvable: a person's approval of the present absences would lift Size.
	Approvable bool

	in GuardInput
}

// Guard judges the absences as a whole. It is pure.
func Guard(in GuardInput) Ruling {
	r := Ruling{in: in}
	if in.Approved && in.Empty {
		r.in.Fault = ""
	}
	if !in.Approved || in.Fault != "" && !in.Empty {
		r.Size = tooMany(in.Going, in.Total)
	}
	r.Approvable = r.Size != "" && (in.Fault == "" || in.Empty)
	return r
}

// tooMany says which size rule stands against deleting so many; "" if none does.
func tooMany(going, total int) string {
	switch {
	case going == 0:
		return ""
	case going >= total:
		return fmt.Sprintf("%s would be deleted, and that is all that this source owns", objects(going))
	case going >= guardHalf && 2*going > total:
		return fmt.Sprintf("%d of %s would be deleted, more than half", going, objects(total))
	case going > guardMany && float64(going) > guardShare*float64(total):
		return fmt.Sprintf("%d of %s would be deleted, more than %.0f %%", going, objects(total), guardShare*100)
	}
	return ""
}

func objects(n int) string {
	if n == 1 {
		return "1 object"
	}
	return fmt.Sprintf("%d objects", n)
}

// Of is the guard's word on one absence. Size is judged first: it stands whatever
// state the source is in.
func (r *Ruling) Of(a *Absence) Removal {
	in := &r.in
	held := func(reason string) Removal {
		return Removal{State: RemovalHeld, Reason: "no file; held: " + reason, After: in.Policy.Recheck}
	}
	switch left := r.leftOf(a); {
	case r.Size != "" && in.Fault != "" && !in.Empty:
		return held(r.Size + "; and " + in.Fault)
	case r.Size != "":
		return held(r.Size)
	case in.Fault != "":
		return held(in.Fault)
	case left > 0:
		return Removal{State: RemovalDue, Reason: "its file is gone; it is deleted unless that comes back", After: left}
	}
	if left := r.takeoverLeft(); left > 0 {
		removal := held("the lease was taken from another holder a short time ago")
		removal.After = left
		return removal
	}
	if in.Uncreated != "" {
		return Removal{State: RemovalDue, Reason: "no file; deleted after what the files add: " + in.Uncreated, After: recheck}
	}
	return Removal{State: RemovalAllowed, Reason: "its file is gone"}
}

// leftOf is how long the object must still be absent; 0 or less if it has been
// absent long enough.
func (r *Ruling) leftOf(a *Absence) time.Duration {
	if a.Scans == 0 {
		return r.in.Policy.After + time.Second
	}
	left := a.Since.Add(r.in.Policy.After).Sub(r.in.Now)
	if a.Scans < leastScans {
		left = max(left, time.Second)
	}
	return left
}

func (r *Ruling) takeoverLeft() time.Duration {
	if r.in.TakenOver.IsZero() {
		return 0
	}
	return r.in.TakenOver.Add(r.in.Policy.AfterTakeover).Sub(r.in.Now)
}
