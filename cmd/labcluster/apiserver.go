package main

import (
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/pflag"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/rest"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
)

const loopback = "127.0.0.1"

var errAPIServerEnded = errors.New("the API server ended by itself")

type apiServer struct {
	client *rest.Config // admin
	ended  context.Context
	cancel context.CancelFunc
	result chan error
}

func startAPIServer(ctx context.Context, h *home, etcdURL string, o upOptions) (*apiServer, error) {
	listener, err := listen(ctx, h, o.port)
	if err != nil {
		return nil, err
	}
	ca, err := loadAuthority(h)
	if err != nil {
		return nil, err
	}
	client, err := adminConfig(ca, listener.Addr().String())
	if err != nil {
		return nil, err
	}
	flags, err := serverFlags(h, ca, etcdURL, o.audit)
	if err != nil {
		return nil, err
	}
	// Its own life: it must outlast the signal until the controllers have been joined.
	runCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	completed, err := serverOptions(runCtx, flags, listener)
	if err != nil {
		cancel()
		return nil, fmt.Errorf("configure the API server: %w", err)
	}
	ended, markEnded := context.WithCancel(context.WithoutCancel(ctx))
	s := &apiServer{client: client, ended: ended, cancel: cancel, result: make(chan error, 1)}
	go func() {
		defer markEnded()
		s.result <- app.Run(runCtx, completed)
	}()
	return s, nil
}

func (s *apiServer) stop() error {
	s.cancel()
	if err := <-s.result; err != nil {
		return fmt.Errorf("API server: %w", err)
	}
	return nil
}

// listen prefers the port of the last run, so that kubeconfigs handed out then go on working.
func listen(ctx context.Context, h *home, port int) (net.Listener, error) {
	if port != 0 {
		l, err := listenOn(ctx, port)
		if errors.Is(err, syscall.EADDRINUSE) {
			return nil, fmt.Errorf("port %d on %s is taken; choose another --port, or 0 for a free one", port, loopback)
		}
		if err != nil {
			return nil, fmt.Errorf("--port %d can't be used: %w", port, err)
		}
		return l, rememberPort(h, l)
	}
	if l, err := listenOn(ctx, lastPort(h)); err == nil {
		return l, rememberPort(h, l)
	}
	l, err := listenOn(ctx, 0)
	if err != nil {
		return nil, fmt.Errorf("no free port on %s: %w", loopback, err)
	}
	return l, rememberPort(h, l)
}

func listenOn(ctx context.Context, port int) (net.Listener, error) {
	var config net.ListenConfig
	return config.Listen(ctx, "tcp4", net.JoinHostPort(loopback, strconv.Itoa(port)))
}

// lastPort is 0 where there is none: any will do then.
func lastPort(h *home) int {
	data, err := os.ReadFile(h.path(portFile))
	if err != nil {
		return 0
	}
	port, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil || port < 1 || port > 65535 {
		return 0
	}
	return port
}

func rememberPort(h *home, l net.Listener) error {
	if err := writePrivate(h.path(portFile), []byte(strconv.Itoa(portOf(l))+"\n")); err != nil {
		return fmt.Errorf("remember the port: %w", err)
	}
	return nil
}

func portOf(l net.Listener) int { return int(netip.MustParseAddrPort(l.Addr().String()).Port()) }

// serverFlags are kube-apiserver's own, as one would write them on its command line.
func serverFlags(h *home, ca *authority, etcdURL, audit string) ([]string, error) {
	serving, err := ca.issue(pkix.Name{CommonName: "kube-apiserver"}, x509.ExtKeyUsageServerAuth, loopback, "localhost", "kubernetes.default.svc")
	if err != nil {
		return nil, fmt.Errorf("issue the serving certificate: %w", err)
	}
	if err := writePrivate(h.path(servingFile), serving.joined()); err != nil {
		return nil, fmt.Errorf("write the serving certificate: %w", err)
	}
	if _, err := readOrMake(h.path(tokenKeyFile), newTokenKey); err != nil {
		return nil, fmt.Errorf("read the key for service account tokens: %w", err)
	}
	auditing, err := auditFlags(h, audit)
	if err != nil {
		return nil, err
	}
	return append(auditing,
		"--etcd-servers="+etcdURL,
		"--bind-address="+loopback,
		"--advertise-address="+loopback,
		"--endpoint-reconciler-type=none", // the kubernetes Service can't point at a loopback address
		"--tls-cert-file="+h.path(servingFile),
		"--tls-private-key-file="+h.path(servingFile),
		"--client-ca-file="+h.path(caCertFile),
		"--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-signing-key-file="+h.path(tokenKeyFile),
		"--service-account-key-file="+h.path(tokenKeyFile),
		"--service-cluster-ip-range=10.0.0.0/16",
		"--enable-admission-plugins=OwnerReferencesPermissionEnforcement",
		"--disable-admission-plugins=ServiceAccount", // no controller makes the accounts that it would demand of pods
		// Open watches would hold up a stop for a minute.
		"--shutdown-send-retry-after=true",
		"--shutdown-watch-termination-grace-period=1s",
	), nil
}

func serverOptions(ctx context.Context, flags []string, l net.Listener) (options.CompletedOptions, error) {
	// The server's command would apply logging options once; kubectl, linked in as well, does so too.
	logsapi.ReapplyHandling = logsapi.ReapplyHandlingIgnoreUnchanged
	s := options.NewServerRunOptions()
	s.SecureServing.Listener, s.SecureServing.BindPort = l, portOf(l)
	fs := pflag.NewFlagSet("kube-apiserver", pflag.ContinueOnError)
	for _, set := range s.Flags().FlagSets {
		fs.AddFlagSet(set)
	}
	if err := fs.Parse(flags); err != nil {
		return options.CompletedOptions{}, err
	}
	s.SecureServing.BindPort = portOf(l) // parsing put the default back
	if err := s.GenericServerRunOptions.ComponentGlobalsRegistry.Set(); err != nil {
		return options.CompletedOptions{}, err
	}
	completed, err := s.Complete(ctx)
	if err != nil {
		return completed, err
	}
	return completed, utilerrors.NewAggregate(completed.Validate())
}
