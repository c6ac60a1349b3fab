package web

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// policy is what the page may do: run its own script, and talk to where it came from.
// Text can't become markup, by any mistake of the script.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
	"frame-ancestors 'none'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// private keeps what the page shows to the page: no other site may frame it, embed
// what it reads, or reach it by a name of its own that leads to this address.
func (s *Server) private(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("X-Frame-Options", "DENY")
		switch {
		case !s.hosts.allow(r.Host):
			text(w, http.StatusForbidden, "this name isn't answered to, since the address is a local one: open "+s.hosts.url())
		case foreign(r):
			text(w, http.StatusForbidden, "other sites may not read this")
		default:
			next(w, r)
		}
	})
}

// foreign is true where a browser says that the request is another site's doing. To
// follow a link from there is fine.
func foreign(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
		return false
	}
	return r.Header.Get("Sec-Fetch-Mode") != "navigate"
}

// hosts are the names by which we are called. On a loopback address these are the
// local ones alone: a site whose name leads to 127.0.0.1 would otherwise be taken by
// browsers for the page's own. On other addresses we can't know our names.
type hosts struct {
	any   bool
	addr  netip.Addr
	port  string
	names []string
}

func hostsOf(addr net.Addr) hosts {
	at, err := netip.ParseAddrPort(addr.String())
	if err != nil || !at.Addr().IsLoopback() {
		return hosts{any: true}
	}
	_, port, _ := net.SplitHostPort(addr.String())
	return hosts{addr: at.Addr(), port: port, names: []string{"localhost", "127.0.0.1", "::1", at.Addr().String()}}
}

func (h *hosts) allow(host string) bool {
	if h.any {
		return true
	}
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		name, port = strings.Trim(host, "[]"), "80"
	}
	if port != h.port {
		return false
	}
	for _, known := range h.names {
		if strings.EqualFold(strings.TrimSuffix(name, "."), known) {
			return true
		}
	}
	return false
}

func (h *hosts) url() string { return "http://" + net.JoinHostPort(h.addr.String(), h.port) + "/" }
