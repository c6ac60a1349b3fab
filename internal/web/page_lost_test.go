package web

import (
	"context"
	"testing"

	"labhub.io/webservice-controller/internal/browser"
)

// TestPageOutlivesTheServer: it says that what it shows is old, finds the next server by
// itself, and shows that one's state and nothing of the old one's.
func TestPageOutlivesTheServer(t *testing.T) {
	t.Parallel()
	first, err := Listen(t.Context(), "127.0.0.1:0", ok, silent())
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- first.Serve() }()
	first.Publish(troubled(50))
	p := browser.Start(t).Open("http://"+first.Addr()+"/", browser.Wide())
	p.Says(pageLimit, "#count", "50 objects")
	if err := first.Shutdown(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	p.Says(pageLimit, "#lost", "the controller is being stopped")
	p.Says(pageLimit, "#lost", "the controller can’t be reached. What is shown is how things stood then.")
	p.Says(pageLimit, "#count", "50 objects")
	for _, size := range []browser.Size{browser.Wide(), browser.Phone()} {
		p.Resize(size)
		fits(p, "lost")
		shoot(p, map[bool]string{true: "lost-wide", false: "lost-phone"}[size == browser.Wide()])
	}

	second, err := Listen(t.Context(), first.Addr(), ok, silent())
	if err != nil {
		t.Fatal(err)
	}
	next := aReport(20)
	next.ControllerVersion = "v9"
	second.Publish(next)
	run(t, second)
	p.Click("#lost button") // "Try now"
	p.Says(pageLimit, "#link", "Live again")
	p.Says(pageLimit, "#state", "Converged")
	p.Says(pageLimit, "#count", "20 objects")
	p.Says(pageLimit, "#lost", "The controller is another version now: v9")
	p.Eventually(pageLimit, "document.querySelectorAll('.notice').length === 0")
	p.Click("#lost button") // "Load its page"
	p.Eventually(pageLimit, "document.getElementById('lost')?.hidden && document.getElementById('count').innerText === '20 objects'")
	p.Silent("ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE")
}

// TestPageThatIsOneTooMany says why it shows nothing, and comes in when there is room.
func TestPageThatIsOneTooMany(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Publish(aReport(5))
	var all []*reader
	for range maxSubscribers {
		all = append(all, follow(t, s.Server, "/api/stream"))
	}
	p := s.Open(s.url(), browser.Wide())
	p.Says(pageLimit, "#lost", "too many pages are open: close one, or look again later")
	_ = all[0].resp.Body.Close()
	p.Says(pageLimit, "#count", "5 objects")
	p.Eventually(pageLimit, "document.getElementById('lost').hidden")
	p.Silent("503")
}
