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
	dropPause = 30 * time.Second
)

// connections are all that we have open to the API server. Clients made from them
// share those.
type connections struct {
	dialer *connrotation.Dialer
	// holder is what client-go knows them by: clients share connections where they
	// have the same one.
	holder *transport.DialHolder

	mu      sync.Mutex
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
// new connection, so being wrong costs little; a server that is only slow isn't
// made to take connections all the time.
func (c *connections) suspect() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); c.dropped.IsZero() || now.Sub(c.dropped) >= dropPause {
		c.dropped = now
		c.dialer.CloseAll()
	}
}
