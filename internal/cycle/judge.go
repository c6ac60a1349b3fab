package cycle

import "strconv"

// Facts are all that convergence is judged from.
type Facts struct {
	// Settled: no key can act, on a cache that has caught up with our own writes.
	Settled bool
	// Busy counts the keys that can act.
	Busy int
	// Standby names the process that holds the lease instead of us; it is set
	// while we may not write. "nobody yet" is a name as good as any.
	Standby string
	// Cluster says what keeps the cluster from being worked on; "" if nothing does.
	Cluster string
	// Known: the source has been read at least once.
	Known bool
	// Source says what is wrong with the source as a whole; "" if nothing is.
	Source string
	// Problems counts the problems in the source, and Problem is the first.
	Problems int
	Problem  string
	// Held counts the deletions that are held. Hold says of the first why, and what
	// to do, and Approvable that a person may approve them.
	Held       int
	Hold       string
	Approvable bool
	// Blocked counts the objects that wait for held deletions.
	Blocked int
	// Failing and Waiting count the objects whose last verdict says so.
	Failing, Waiting int
	// First says of the first failing object, or else of the first waiting one,
	// what the verdict was.
	First string
}

// Judge says whether everything is as it should be, and if not, in one sentence,
// what that waits for. It names what a person should look at first.
func Judge(f Facts) (converged bool, waitingFor string) {
	switch {
	case f.Standby != "":
		return false, "standing by: the lease is held by " + f.Standby
	case f.Cluster != "":
		return false, f.Cluster
	case !f.Known && f.Source == "":
		return false, "the source to be read"
	case f.Source != "" && f.Approvable:
		return false, f.Source + "; " + hold(&f)
	case f.Source != "":
		return false, f.Source
	case f.Failing > 0:
		return false, count(f.Failing, "failing object") + ": " + f.First
	case f.Problems > 0:
		return false, count(f.Problems, "problem") + " in the source to be mended: " + f.Problem
	case f.Held > 0:
		return false, hold(&f)
	case f.Blocked > 0:
		return false, count(f.Blocked, "object") + " to be created once no deletion is held"
	case f.Waiting > 0:
		return false, count(f.Waiting, "waiting object") + ": " + f.First
	case !f.Settled && f.Busy > 0:
		return false, count(f.Busy, "object") + " to be reconciled"
	case !f.Settled:
		return false, "the watch to catch up with our own writes"
	}
	return true, ""
}

func hold(f *Facts) string { return count(f.Held, "held deletion") + ": " + f.Hold }

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}
