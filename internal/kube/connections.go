package kube

import (
	"net"
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
	"k8s.io/client-go/util/connrotation"
)

// Times of connections.
const (
	// dialTimeout is short enough that a server which is back is found soon, although
	// a try that began while nothing answered would rather wait for the network.
	dialTimeout = 10 * time.Second
	keepAlive   = 30 * time.Second
	// dropPause is between two times that all connections are given up.
	dropPause = 8 * time.Second
	// prompt is how soon after that an answer shows that it has helped.
	prompt = time.Second
)

// connections are all that we have open to the API server. Clients made from them
// share those.
type connections struct {
	dialer *connrotation.Dialer
	// holder is what client-go knows them by: clients share connections where they
	// have the same one.
	holder *transport.DialHolder

	mu sync.Mutex
	// silent: the last request got no answer. dropped is when all connections were last
	// given up for that.
	silent  bool
	dropped time.Time
}

func newConnections(cfg *rest.Config) *connections {
	dial := cfg.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: dialTimeout, KeepAlive: keepAlive}).DialContext
	}
	d := connrotation.NewDialer(dial)
	return &connections{dialer: d, holder: &transport.DialHolder{Dial: d.DialContext}}
}

func (c *connections) client(cfg *rest.Config) (*http.Client, error) {
	t, err := cfg.TransportConfig()
	if err != nil {
		return nil, err
	}
	t.DialHolder = c.holder
	carrier, err := transport.New(t)
	if err != nil {
		return nil, err
	}
	return &http.Client{Transport: carrier, Timeout: cfg.Timeout}, nil
}

// suspect gives all connections up, since a request on one of them got no answer.
// One that something on the way has forgotten looks open and carries nothing; HTTP
// would notice after three quarters of a minute. A watch goes on where it was on a
// new connection, so being wrong costs little. A server that is only slow isn't made
// to take new ones all the time.
func (c *connections) suspect() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.silent = true
	if c.dropped.IsZero() || time.Since(c.dropped) >= dropPause {
		c.dropped = time.Now()
		c.dialer.CloseAll()
	}
}

// trust gives up, once there are answers again, what was begun while there were none:
// a list or a watch that waits since then would wait for ever. Where the answer comes
// as soon as connections have been given up, that has been done already.
func (c *connections) trust() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.silent && time.Since(c.dropped) >= prompt {
		c.dialer.CloseAll()
	}
	c.silent = false
}
