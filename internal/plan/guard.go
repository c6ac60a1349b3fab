package plan

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Sizes above which deletions need a person's word: everything that we own, more
// than half of it where that is at least guardHalf, or more than guardPercent of
// it where that is more than guardMany.
const (
	guardHalf    = 3
	guardMany    = 10
	guardPercent = 30
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
	// Approvable: a person's approval of the present absences would let them go.
	Approvable bool

	in GuardInput
}

// Guard judges the absences as a whole. It is pure.
//
// An approval lifts the size rules, and the fault of a directory that is empty
// and was read whole. It lifts nothing while the source can't be believed: what
// was approved may not be what is absent.
func Guard(in GuardInput) Ruling {
	if in.Empty {
		in = ofEmpty(in)
	}
	r := Ruling{in: in}
	if !in.Policy.Enabled {
		return r
	}
	mendable := in.Fault != "" && !in.Empty
	if !in.Approved || mendable {
		r.Size = tooMany(in.Going, in.Total)
	}
	r.Approvable = !mendable && in.Going > 0 && (r.Size != "" || in.Empty)
	return r
}

// ofEmpty is in with what being empty comes to: nothing more once that is approved.
func ofEmpty(in GuardInput) GuardInput {
	switch {
	case in.Approved:
		in.Empty, in.Fault = false, ""
	case in.Fault == "":
		in.Fault = "the source has no WebService"
	}
	return in
}

// tooMany says which size rule stands against deleting so many; "" if none does.
func tooMany(going, total int) string {
	switch {
	case going == 0:
		return ""
	case going >= total:
		return objects(going) + " would be deleted, and that is all that this source owns"
	case going >= guardHalf && 2*going > total:
		return fmt.Sprintf("%d of %s would be deleted, more than half", going, objects(total))
	case going > guardMany && 100*going > guardPercent*total:
		return fmt.Sprintf("%d of %s would be deleted, more than %d %%", going, objects(total), guardPercent)
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
	if !in.Policy.Enabled {
		return Removal{State: RemovalKept, Reason: pruningOff}
	}
	if why := r.holds(); why != "" {
		return Removal{State: RemovalHeld, Reason: "no file; held: " + why, After: in.Policy.Recheck}
	}
	if left := r.leftOf(a); left > 0 {
		return Removal{State: RemovalDue, Reason: "its file is gone; it is deleted unless that comes back", After: left}
	}
	if left := r.takeoverLeft(); left > 0 {
		return Removal{
			State: RemovalHeld, After: left,
			Reason: "no file; held: the lease was taken from another holder a short time ago",
		}
	}
	if in.Uncreated != "" {
		return Removal{State: RemovalDue, Reason: "no file; deleted after what the files add: " + in.Uncreated, After: recheck}
	}
	return Removal{State: RemovalAllowed, Reason: "its file is gone"}
}

// holds says what keeps every absence until a person does something; "" where
// nothing does.
func (r *Ruling) holds() string {
	switch {
	case r.Approvable && r.Size != "":
		return r.Size + ": approve that, or bring the files back"
	case r.Approvable:
		return r.in.Fault + ": approve that, or bring the files back"
	case r.Size != "":
		return r.Size + "; and " + r.in.Fault
	}
	return r.in.Fault
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
