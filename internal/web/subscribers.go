package web

import (
	"sync"
	"sync/atomic"
)

// maxSubscribers is how many pages may be open at once.
const maxSubscribers = 64

// subscribers are the pages that are open. The zero value is ready for use.
type subscribers struct {
	// count lets a report be published without a lock while nobody looks.
	count atomic.Int32

	mu  sync.Mutex
	all map[*subscriber]struct{}
}

// subscriber is one open page. It is told that there is news, and not which.
type subscriber struct{ news chan struct{} }

// join adds a page, unless there are too many. For the first one begin is called.
func (s *subscribers) join(begin func()) *subscriber {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.all) >= maxSubscribers {
		return nil
	}
	if s.all == nil {
		s.all = map[*subscriber]struct{}{}
	}
	if len(s.all) == 0 {
		begin()
	}
	sub := &subscriber{news: make(chan struct{}, 1)}
	s.all[sub] = struct{}{}
	s.count.Store(int32(len(s.all)))
	return sub
}

// leave takes a page away; after the last one, end is called.
func (s *subscribers) leave(sub *subscriber, end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, sub)
	s.count.Store(int32(len(s.all)))
	if len(s.all) == 0 {
		end()
	}
}

// tell wakes every page. It waits for none.
func (s *subscribers) tell() {
	if s.count.Load() == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for sub := range s.all {
		select {
		case sub.news <- struct{}{}:
		default: // it has yet to look at the last news
		}
	}
}
