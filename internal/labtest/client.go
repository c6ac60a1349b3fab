package labtest

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	userAgent     = "labtest"
	tokenLifetime = time.Hour
	kubectlLimit  = 2 * time.Minute
)

// Config is the admin's client configuration, with no limit on the client's side.
func (c *Cluster) Config(t testing.TB) *rest.Config {
	t.Helper()
	return ConfigFrom(t, c.Kubeconfig)
}

// ConfigFrom reads a kubeconfig, that of a service account for instance, with no limit on the client's side.
func ConfigFrom(t testing.TB, kubeconfig string) *rest.Config {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	config.UserAgent = userAgent
	return config
}

// Client is the admin's client for the built-in kinds.
func (c *Cluster) Client(t testing.TB) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(c.Config(t))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// Namespace makes a new namespace, deleted when the test ends.
func (c *Cluster) Namespace(t testing.TB) string {
	t.Helper()
	name := "t-" + strings.ToLower(rand.Text()[:10])
	namespaces := c.Client(t).CoreV1().Namespaces()
	if _, err := namespaces.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	ctx := context.WithoutCancel(t.Context())
	t.Cleanup(func() {
		if c.server == nil {
			return // the test ended its server, and the namespace with it
		}
		if err := namespaces.Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			t.Error(err)
		}
	})
	return name
}

// ServiceAccount makes an account, unless it is there already, and returns the path of a kubeconfig with its token.
func (c *Cluster) ServiceAccount(t testing.TB, namespace, name string) string {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}}
	_, err := c.Client(t).CoreV1().ServiceAccounts(namespace).Create(t.Context(), account, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name+".kubeconfig")
	config := loadKubeconfig(t, c.Kubeconfig)
	user := currentUser(config)
	*user = *emptyUser()
	user.Token = c.Token(t, namespace, name, tokenLifetime)
	saveKubeconfig(t, config, path)
	return path
}

// Token asks the server for a token of a service account. The shortest lifetime that a server grants is ten minutes.
func (c *Cluster) Token(t testing.TB, namespace, name string, lifetime time.Duration) string {
	t.Helper()
	seconds := int64(lifetime.Seconds())
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	answer, err := c.Client(t).CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), name, request, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return answer.Status.Token
}

// Kubectl runs kubectl as the admin and returns what it printed; it ends the test when kubectl fails.
func (c *Cluster) Kubectl(t testing.TB, args ...string) string {
	t.Helper()
	stdout, stderr, code := c.KubectlExit(t, "", args...)
	if code != 0 {
		t.Fatalf("kubectl %s: exit code %d: %s", strings.Join(args, " "), code, stderr)
	}
	return stdout
}

// KubectlExit runs kubectl as the admin with something to read, and returns how it ended, whatever that is.
func (c *Cluster) KubectlExit(t testing.TB, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), kubectlLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.binary, append([]string{"kubectl"}, args...)...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig)
	cmd.Stdin = strings.NewReader(stdin)
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), problems.String(), cmd.ProcessState.ExitCode()
}
