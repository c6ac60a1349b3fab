package kube

import (
	"errors"
	"net"
	"strconv"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// full is an address whose queue of connections is full: the system drops what else
// comes, as a firewall would, and nobody is told.
func full(t *testing.T) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	at, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	in4, ok := at.(*syscall.SockaddrInet4)
	if !ok {
		t.Fatalf("listening at %T", at)
	}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(in4.Port))
	for {
		dialer := net.Dialer{Timeout: 500 * time.Millisecond}
		conn, err := dialer.DialContext(t.Context(), "tcp4", address)
		if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
			return address
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
	}
}

// TestDialTimeout: a try to connect that nobody answers ends soon, also where the
// request itself could wait for ever, as a watch's can.
func TestDialTimeout(t *testing.T) {
	t.Parallel()
	cfg := &rest.Config{Host: "http://" + full(t)}
	client, err := newClients(cfg, newConnections(cfg), 0)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	_, err = client.core.ConfigMaps("lab").Watch(t.Context(), metav1.ListOptions{})
	if took := time.Since(began); !errors.Is(err, ErrNoAnswer) || took < dialTimeout-time.Second || took > dialTimeout+5*time.Second {
		t.Errorf("after %s: %v", took, err)
	}
}
