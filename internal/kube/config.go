package kube

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/transport"
)

// ErrNoCluster says that no cluster is configured anywhere.
var ErrNoCluster = errors.New("no cluster is configured: name a kubeconfig with --kubeconfig or $KUBECONFIG")

// LoadConfig finds the cluster the way kubectl does, and in a pod by its own
// account. kubeconfig and context are "" where the user named none. Errors:
// ErrNoCluster, or what is wrong with the kubeconfig.
func LoadConfig(kubeconfig, context, version string) (*rest.Config, error) {
	cfg, err := clientConfig(kubeconfig, context).ClientConfig()
	switch {
	case clientcmd.IsEmptyConfig(err), errors.Is(err, rest.ErrNotInCluster):
		if named := os.Getenv(clientcmd.RecommendedConfigPathEnvVar); named != "" {
			return nil, fmt.Errorf("%w; what $%s names, %s, doesn't exist or is empty", ErrNoCluster, clientcmd.RecommendedConfigPathEnvVar, named)
		}
		return nil, ErrNoCluster
	case err != nil:
		return nil, fmt.Errorf("the kubeconfig can't be used: %w", err)
	}
	freshToken(cfg)
	cfg.UserAgent = "webservice-controller/" + version + " (" + runtime.GOOS + "/" + runtime.GOARCH + ")"
	return cfg, nil
}

// freshToken has the token read from its file again once the server doesn't know it
// any more, and not only once a minute: a token may be replaced before it ends.
func freshToken(cfg *rest.Config) {
	if cfg.BearerTokenFile == "" {
		return
	}
	cfg.Wrap(transport.ResettableTokenSourceWrapTransport(transport.NewCachedFileTokenSource(cfg.BearerTokenFile)))
	cfg.BearerToken, cfg.BearerTokenFile = "", ""
}

// Namespace is the one that the kubeconfig's context works in, as kubectl has it;
// "default" where it names none. The arguments are those of LoadConfig.
func Namespace(kubeconfig, context string) (string, error) {
	namespace, _, err := clientConfig(kubeconfig, context).Namespace()
	if err != nil {
		return "", fmt.Errorf("the kubeconfig can't be used: %w", err)
	}
	return namespace, nil
}

// Contexts are the names of the kubeconfig's contexts, sorted.
func Contexts(kubeconfig string) ([]string, error) {
	raw, err := clientConfig(kubeconfig, "").RawConfig()
	return slices.Sorted(maps.Keys(raw.Contexts)), err
}

func clientConfig(kubeconfig, context string) clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: context}
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
}
