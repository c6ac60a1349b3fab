package report

// Summarize counts the items by action, and the errors, suspended objects,
// held deletions and problems beside them.
func Summarize(items []Item, held []Held, problems []Problem) Summary {
	s := Summary{Total: len(items), Held: len(held), Problems: len(problems)}
	for i := range items {
		s.count(&items[i])
	}
	return s
}

func (s *Summary) count(item *Item) {
	switch item.Action {
	case ActionCreate:
		s.Create++
	case ActionUpdate:
		s.Update++
	case ActionDelete:
		s.Delete++
	case ActionNoop:
		s.Noop++
	case ActionRequeue:
		s.Requeue++
	}
	if item.Failed() {
		s.Errors++
	}
	if item.Suspended {
		s.Suspended++
	}
}
