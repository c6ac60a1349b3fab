package cycle

import "testing"

// do is one call of a Tracker, and what it answers where it answers something.
type do struct {
	call string
	key  string
	with Standing
	want bool
}

func (d do) to(t *testing.T, tr *Tracker[string]) {
	t.Helper()
	got := d.want
	switch d.call {
	case "wake":
		got = tr.Wake(d.key, "cause of "+d.key)
	case "rest":
		tr.Rest(d.key, d.with)
	case "drop":
		tr.Drop(d.key)
	case "begin":
		got = tr.Begin("snapshot")
	case "end":
		got = tr.End(true)
	case "end behind":
		got = tr.End(false)
	case "cut":
		tr.Cut()
	default:
		t.Fatalf("no call %q", d.call)
	}
	if got != d.want {
		t.Errorf("%s %s: %t, want %t", d.call, d.key, got, d.want)
	}
}

func TestTracker(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		calls   []do
		settled bool
		number  int64
		trigger string
		busy    int
		counts  [standings]int // Done, Waiting, Failing, Held, Blocked
	}{
		{name: "nothing has happened", settled: true},
		{
			name:   "the first key begins a cycle, and the second joins it",
			calls:  []do{{call: "wake", key: "a", want: true}, {call: "wake", key: "b"}},
			number: 1, trigger: "cause of a", busy: 2,
		},
		{
			name:   "a key woken twice is busy once",
			calls:  []do{{call: "wake", key: "a", want: true}, {call: "wake", key: "a"}},
			number: 1, trigger: "cause of a", busy: 1,
		},
		{
			name:   "a cycle doesn't end while a key can act",
			calls:  []do{{call: "wake", key: "a", want: true}, {call: "wake", key: "b"}, {call: "rest", key: "a"}, {call: "end"}},
			number: 1, trigger: "cause of a", busy: 1, counts: [standings]int{1, 0, 0, 0},
		},
		{
			name:   "nor before the cache has caught up",
			calls:  []do{{call: "wake", key: "a", want: true}, {call: "rest", key: "a"}, {call: "end behind"}},
			number: 1, trigger: "cause of a", counts: [standings]int{1, 0, 0, 0},
		},
		{
			name:    "it ends when both are so",
			calls:   []do{{call: "wake", key: "a", want: true}, {call: "rest", key: "a"}, {call: "end", want: true}},
			settled: true, number: 1, trigger: "cause of a", counts: [standings]int{1, 0, 0, 0},
		},
		{
			name:    "and it ends once",
			calls:   []do{{call: "begin", want: true}, {call: "end", want: true}, {call: "end"}},
			settled: true, number: 1, trigger: "snapshot",
		},
		{
			name: "the next key begins the next cycle",
			calls: []do{
				{call: "wake", key: "a", want: true},
				{call: "rest", key: "a"},
				{call: "end", want: true},
				{call: "wake", key: "b", want: true},
			},
			number: 2, trigger: "cause of b", busy: 1, counts: [standings]int{1, 0, 0, 0},
		},
		{
			name:   "a snapshot begins a cycle, and joins one that lasts",
			calls:  []do{{call: "begin", want: true}, {call: "begin"}},
			number: 1, trigger: "snapshot",
		},
		{
			name: "the last verdict on a key counts",
			calls: []do{
				{call: "wake", key: "a", want: true},
				{call: "rest", key: "a", with: Failing},
				{call: "rest", key: "b", with: Waiting},
				{call: "rest", key: "c", with: Held},
				{call: "rest", key: "d", with: Blocked},
				{call: "wake", key: "a"},
				{call: "rest", key: "a", with: Waiting},
			},
			number: 1, trigger: "cause of a", counts: [standings]int{0, 2, 0, 1, 1},
		},
		{
			name:   "while a key can act its last verdict still counts",
			calls:  []do{{call: "wake", key: "a", want: true}, {call: "rest", key: "a", with: Failing}, {call: "wake", key: "a"}},
			number: 1, trigger: "cause of a", busy: 1, counts: [standings]int{0, 0, 1, 0},
		},
		{
			name:   "but one that can act doesn't wait any more",
			calls:  []do{{call: "wake", key: "a", want: true}, {call: "rest", key: "a", with: Waiting}, {call: "wake", key: "a"}},
			number: 1, trigger: "cause of a", busy: 1,
		},
		{
			name: "nor after it was dropped meanwhile",
			calls: []do{
				{call: "wake", key: "a", want: true},
				{call: "rest", key: "a", with: Waiting},
				{call: "wake", key: "a"},
				{call: "drop", key: "a"},
			},
			number: 1, trigger: "cause of a",
		},
		{
			name: "a key that is dropped counts nowhere, busy or not",
			calls: []do{
				{call: "wake", key: "a", want: true},
				{call: "drop", key: "a"},
				{call: "rest", key: "b", with: Failing},
				{call: "drop", key: "b"},
				{call: "drop", key: "unknown"},
				{call: "end", want: true},
			},
			settled: true, number: 1, trigger: "cause of a",
		},
		{
			name: "a cycle that is cut off leaves its keys to the next one",
			calls: []do{
				{call: "wake", key: "a", want: true},
				{call: "cut"},
				{call: "begin", want: true},
				{call: "end"},
				{call: "wake", key: "a"},
			},
			number: 2, trigger: "snapshot", busy: 1,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var tr Tracker[string]
			for _, d := range c.calls {
				d.to(t, &tr)
			}
			if tr.Settled() != c.settled || tr.Number() != c.number || tr.Trigger() != c.trigger || tr.Busy() != c.busy {
				t.Errorf("settled %t, number %d, trigger %q, busy %d", tr.Settled(), tr.Number(), tr.Trigger(), tr.Busy())
			}
			for s, want := range c.counts {
				if got := tr.Count(Standing(s)); got != want {
					t.Errorf("standing %d: %d keys, want %d", s, got, want)
				}
			}
		})
	}
}
