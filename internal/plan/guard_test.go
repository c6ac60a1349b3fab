package plan

import (
	"testing"
	"time"
)

// guardInput is one under which what is absent long enough is deleted: 1 of 10.
func guardInput() GuardInput {
	return GuardInput{
		Going: 1, Total: 10, Now: startNow,
		Policy: &PrunePolicy{Enabled: true, After: 3 * time.Second, AfterTakeover: 2 * time.Minute, Recheck: 30 * time.Second},
	}
}

// longAbsent is an absence that has lasted.
func longAbsent() *Absence {
	return &Absence{Key: testKey, UID: liveUID, Since: startNow.Add(-time.Minute), Scans: 20}
}

// TestGuardSizes: how many of how many need a person's word. The objects of others
// are in neither number.
func TestGuardSizes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		going, total int
		want         string
	}{
		{1, 1, "1 object would be deleted, and that is all that this source owns"},
		{2, 2, "2 objects would be deleted, and that is all that this source owns"},
		{3, 3, "3 objects would be deleted, and that is all that this source owns"},
		{1000, 1000, "1000 objects would be deleted, and that is all that this source owns"},

		{1, 2, ""},
		{2, 3, ""}, // more than half, but of few
		{2, 4, ""},
		{3, 4, "3 of 4 objects would be deleted, more than half"},
		{3, 5, "3 of 5 objects would be deleted, more than half"},
		{3, 6, ""}, // exactly half
		{4, 7, "4 of 7 objects would be deleted, more than half"},
		{4, 8, ""},
		{8, 10, "8 of 10 objects would be deleted, more than half"},
		{9, 10, "9 of 10 objects would be deleted, more than half"},
		{1, 10, ""},
		{10, 20, ""},
		{10, 33, ""}, // 30.3 %, but of few
		{10, 40, ""},

		{11, 36, "11 of 36 objects would be deleted, more than 30 %"}, // 30.6 %
		{11, 37, ""}, // 29.7 %
		{11, 40, ""},
		{12, 40, ""}, // exactly 30 %
		{13, 40, "13 of 40 objects would be deleted, more than 30 %"},
		{11, 22, "11 of 22 objects would be deleted, more than 30 %"},
		{12, 22, "12 of 22 objects would be deleted, more than half"},
		{30, 100, ""},
		{31, 100, "31 of 100 objects would be deleted, more than 30 %"},
		{300, 1000, ""},
		{301, 1000, "301 of 1000 objects would be deleted, more than 30 %"},
	} {
		in := guardInput()
		in.Going, in.Total = c.going, c.total
		r := Guard(in)
		if r.Size != c.want || r.Approvable != (c.want != "") {
			t.Errorf("%d of %d: %q, approvable %t; want %q", c.going, c.total, r.Size, r.Approvable, c.want)
		}
		want := RemovalAllowed
		if c.want != "" {
			want = RemovalHeld
		}
		if got := r.Of(longAbsent()); got.State != want {
			t.Errorf("%d of %d: %+v, want state %d", c.going, c.total, got, want)
		}
	}
	in := guardInput()
	in.Going, in.Total = 0, 0
	if r := Guard(in); r.Size != "" || r.Approvable {
		t.Errorf("nothing absent: %+v", r)
	}
}

// TestGuard starts from 1 of 10 objects, absent for a minute over 20 scans.
func TestGuard(t *testing.T) {
	t.Parallel()
	const all = "10 objects would be deleted, and that is all that this source owns"
	const fault = "the source has 1 problem: mend it"
	const empty = "the directory has no WebService"
	const isDue = "its file is gone; it is deleted unless that comes back"
	const fresh = "no file; held: the lease was taken from another holder a short time ago"
	allGone := func(in *GuardInput) { in.Going = 10 }

	for _, c := range []struct {
		name       string
		change     func(*GuardInput, *Absence)
		want       Removal
		size       string
		approvable bool
	}{
		{"nothing stands against it", func(*GuardInput, *Absence) {}, Removal{State: RemovalAllowed, Reason: "its file is gone"}, "", false},
		{"pruning off", func(in *GuardInput, _ *Absence) { in.Policy.Enabled = false }, Removal{State: RemovalKept, Reason: "no file; pruning is off"}, "", false},
		{"pruning off, all gone", func(in *GuardInput, _ *Absence) {
			allGone(in)
			in.Policy.Enabled = false
		}, Removal{State: RemovalKept, Reason: "no file; pruning is off"}, "", false},

		{"too many", func(in *GuardInput, _ *Absence) { allGone(in) },
			Removal{State: RemovalHeld, Reason: "no file; held: " + all + ": approve that, or bring the files back", After: 30 * time.Second}, all, true},
		{"too many, just seen", func(in *GuardInput, a *Absence) {
			allGone(in)
			a.Scans, a.Since = 0, time.Time{}
		}, Removal{State: RemovalHeld, Reason: "no file; held: " + all + ": approve that, or bring the files back", After: 30 * time.Second}, all, true},
		{"too many, approved", func(in *GuardInput, _ *Absence) {
			allGone(in)
			in.Approved = true
		}, Removal{State: RemovalAllowed, Reason: "its file is gone"}, "", false},
		{"too many, approved and just seen", func(in *GuardInput, a *Absence) {
			allGone(in)
			in.Approved, a.Scans, a.Since = true, 1, startNow.Add(-time.Second)
		}, Removal{State: RemovalDue, Reason: isDue, After: 2 * time.Second}, "", false},

		{"the source has faults", func(in *GuardInput, _ *Absence) { in.Fault = fault },
			Removal{State: RemovalHeld, Reason: "no file; held: " + fault, After: 30 * time.Second}, "", false},
		{"the source has faults, approved", func(in *GuardInput, _ *Absence) { in.Fault, in.Approved = fault, true },
			Removal{State: RemovalHeld, Reason: "no file; held: " + fault, After: 30 * time.Second}, "", false},
		{"too many, and the source has faults", func(in *GuardInput, _ *Absence) {
			allGone(in)
			in.Fault = fault
		}, Removal{State: RemovalHeld, Reason: "no file; held: " + all + "; and " + fault, After: 30 * time.Second}, all, false},
		{"too many, the source has faults, approved", func(in *GuardInput, _ *Absence) {
			allGone(in)
			in.Fault, in.Approved = fault, true
		}, Removal{State: RemovalHeld, Reason: "no file; held: " + all + "; and " + fault, After: 30 * time.Second}, all, false},

		{"empty", func(in *GuardInput, _ *Absence) {
			allGone(in)
			in.Fault, in.Empty = empty, true
		}, Removal{State: RemovalHeld, Reason: "no file; held: " + all + ": approve that, or bring the files back", After: 30 * time.Second}, all, true},
		{"empty, though no size rule stands", func(in *GuardInput, _ *Absence) { in.Fault, in.Empty = empty, true },
			Removal{State: RemovalHeld, Reason: "no file; held: " + empty + ": approve that, or bring the files back", After: 30 * time.Second}, "", true},
		{"empty, without a word for it", func(in *GuardInput, _ *Absence) { in.Empty = true },
			Removal{State: RemovalHeld, Reason: "no file; held: the source has no WebService: approve that, or bring the files back", After: 30 * time.Second}, "", true},
		{"empty, approved", func(in *GuardInput, _ *Absence) {
			allGone(in)
			in.Fault, in.Empty, in.Approved = empty, true, true
		}, Removal{State: RemovalAllowed, Reason: "its file is gone"}, "", false},

		{"not seen absent by a clean scan", func(_ *GuardInput, a *Absence) { a.Scans, a.Since = 0, time.Time{} },
			Removal{State: RemovalDue, Reason: isDue, After: 4 * time.Second}, "", false},
		{"seen absent once, long ago", func(_ *GuardInput, a *Absence) { a.Scans = 1 },
			Removal{State: RemovalDue, Reason: isDue, After: time.Second}, "", false},
		{"seen absent twice, a second ago", func(_ *GuardInput, a *Absence) { a.Scans, a.Since = 2, startNow.Add(-time.Second) },
			Removal{State: RemovalDue, Reason: isDue, After: 2 * time.Second}, "", false},
		{"seen absent twice, just long enough", func(_ *GuardInput, a *Absence) { a.Scans, a.Since = 2, startNow.Add(-3*time.Second) },
			Removal{State: RemovalAllowed, Reason: "its file is gone"}, "", false},
		{"seen absent once, and no time to wait for", func(in *GuardInput, a *Absence) { a.Scans, a.Since, in.Policy.After = 1, startNow, 0 },
			Removal{State: RemovalDue, Reason: isDue, After: time.Second}, "", false},
		{"seen absent in the future", func(_ *GuardInput, a *Absence) { a.Since = startNow.Add(time.Hour) },
			Removal{State: RemovalDue, Reason: isDue, After: time.Hour + 3*time.Second}, "", false},

		{"just taken over", func(in *GuardInput, _ *Absence) { in.TakenOver = startNow.Add(-10 * time.Second) },
			Removal{State: RemovalHeld, Reason: fresh, After: 110 * time.Second}, "", false},
		{"just taken over, approved", func(in *GuardInput, _ *Absence) {
			allGone(in)
			in.TakenOver, in.Approved = startNow.Add(-10*time.Second), true
		}, Removal{State: RemovalHeld, Reason: fresh, After: 110 * time.Second}, "", false},
		{"taken over long enough ago", func(in *GuardInput, _ *Absence) { in.TakenOver = startNow.Add(-2 * time.Minute) },
			Removal{State: RemovalAllowed, Reason: "its file is gone"}, "", false},
		{"just taken over, and not absent for long", func(in *GuardInput, a *Absence) { in.TakenOver, a.Scans = startNow, 1 },
			Removal{State: RemovalDue, Reason: isDue, After: time.Second}, "", false},

		{"something is still to be created", func(in *GuardInput, _ *Absence) { in.Uncreated = "crd-lab/new: the namespace is being deleted" },
			Removal{State: RemovalDue, Reason: "no file; deleted after what the files add: crd-lab/new: the namespace is being deleted", After: 5 * time.Second}, "", false},
		{"something is still to be created, and it is too many", func(in *GuardInput, _ *Absence) {
			allGone(in)
			in.Uncreated = "crd-lab/new: waits for held deletions"
		}, Removal{State: RemovalHeld, Reason: "no file; held: " + all + ": approve that, or bring the files back", After: 30 * time.Second}, all, true},
	} {
		in, absence := guardInput(), longAbsent()
		c.change(&in, absence)
		r := Guard(in)
		if got := r.Of(absence); got != c.want || r.Size != c.size || r.Approvable != c.approvable {
			t.Errorf("%s: %+v, size %q, approvable %t\nwant %+v, size %q, approvable %t",
				c.name, got, r.Size, r.Approvable, c.want, c.size, c.approvable)
		}
	}
}

// TestApprovalIsVoid: an approval is of one set. What is absent once another
// object is going as well has another digest, and is held anew.
func TestApprovalIsVoid(t *testing.T) {
	t.Parallel()
	set := []Absence{{Key: Key{Namespace: "a", Name: "x"}, UID: "1"}, {Key: Key{Namespace: "a", Name: "y"}, UID: "2"}, {Key: Key{Namespace: "a", Name: "z"}, UID: "3"}}
	approved := AbsencesDigest(sourceName, set)
	rule := func(absences []Absence) Ruling {
		in := guardInput()
		in.Going, in.Total, in.Approved = len(absences), 5, AbsencesDigest(sourceName, absences) == approved
		return Guard(in)
	}
	if r := rule(set); r.Size != "" {
		t.Errorf("the approved set is held: %s", r.Size)
	}
	more := append(set[:3:3], Absence{Key: Key{Namespace: "b", Name: "x"}, UID: "4"})
	if r := rule(more); r.Size != "4 of 5 objects would be deleted, more than half" || !r.Approvable {
		t.Errorf("one more object is going: %+v", r)
	}
	anew := append(set[:2:2], Absence{Key: Key{Namespace: "a", Name: "z"}, UID: "5"})
	if r := rule(anew); r.Size != "3 of 5 objects would be deleted, more than half" || !r.Approvable {
		t.Errorf("an object was made anew: %+v", r)
	}
}

// TestDeletesOnlyByTheRules goes through all small numbers and all else that
// matters. The rules are stated here once more, in other words than the guard's.
func TestDeletesOnlyByTheRules(t *testing.T) {
	t.Parallel()
	policies := []PrunePolicy{
		{After: 3 * time.Second, AfterTakeover: 2 * time.Minute, Recheck: time.Second},
		{Enabled: true, After: 3 * time.Second, AfterTakeover: 2 * time.Minute, Recheck: time.Second},
	}
	absences := []Absence{{}}
	for _, age := range []time.Duration{0, 3*time.Second - 1, 3 * time.Second, time.Hour} {
		for scans := 1; scans <= 3; scans++ {
			absences = append(absences, Absence{Since: startNow.Add(-age), Scans: scans})
		}
	}
	takeovers := []time.Time{{}, startNow, startNow.Add(1 - 2*time.Minute), startNow.Add(-2 * time.Minute)}
	asked, allowed := 0, 0
	for going := 1; going <= 14; going++ {
		for total := going; total <= 50; total++ {
			for flags := range 32 {
				for _, takenOver := range takeovers {
					in := GuardInput{Going: going, Total: total, Now: startNow, TakenOver: takenOver, Policy: &policies[flags&1]}
					in.Approved, in.Empty = flags&2 != 0, flags&4 != 0
					if flags&8 != 0 {
						in.Fault = "fault"
					}
					if flags&16 != 0 {
						in.Uncreated = "new"
					}
					r := Guard(in)
					for i := range absences {
						asked++
						if wantRuling(t, &in, &r, &absences[i]) {
							allowed++
						}
					}
				}
			}
		}
	}
	if asked != 14*(50+37)/2*32*4*13 || allowed == 0 || t.Failed() {
		t.Errorf("asked %d times, allowed %d times", asked, allowed)
	}
}

// wantRuling says whether the absence may be deleted, as the guard must.
func wantRuling(t *testing.T, in *GuardInput, r *Ruling, a *Absence) bool {
	t.Helper()
	few := in.Going < in.Total && // something is left
		(in.Going <= 2 || in.Going <= in.Total-in.Going) && // and as many stay as go
		(in.Going <= 10 || in.Going*10 <= in.Total*3) // and seven of ten stay
	sound := in.Fault == "" && !in.Empty || in.Empty && in.Approved
	lasted := a.Scans >= 2 && in.Now.Sub(a.Since) >= 3*time.Second
	settled := in.TakenOver.IsZero() || in.Now.Sub(in.TakenOver) >= 2*time.Minute
	want := in.Policy.Enabled && (few || in.Approved) && sound && lasted && settled && in.Uncreated == ""

	got := r.Of(a)
	if (got.State == RemovalAllowed) != want {
		t.Errorf("%+v of %+v: allowed %t, want %t", *a, *in, !want, want)
	}
	if stands := in.Policy.Enabled && !few && (!in.Approved || !sound); (r.Size != "") != stands {
		t.Errorf("%+v: the size rule %q, want one %t", *in, r.Size, stands)
	}
	waits := got.State == RemovalHeld || got.State == RemovalDue
	if got.Reason == "" || got.State == RemovalNone || (got.After > 0) != waits {
		t.Errorf("%+v of %+v: %+v", *a, *in, got)
	}
	return got.State == RemovalAllowed
}
