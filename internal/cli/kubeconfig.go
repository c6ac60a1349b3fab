package cli

import (
	"errors"
	"fmt"
	"runtime"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"labhub.io/webservice-controller/internal/config"
)

// restConfig finds the cluster the way kubectl does, and in a pod by its own
// account.
func restConfig(cfg *config.Config, version string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = cfg.Kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: cfg.Context})
	rc, err := loader.ClientConfig()
	switch {
	case clientcmd.IsEmptyConfig(err), errors.Is(err, rest.ErrNotInCluster):
		return nil, usagef("no cluster is configured: name a kubeconfig with --kubeconfig or $KUBECONFIG")
	case err != nil:
		return nil, usage(fmt.Errorf("the kubeconfig can't be used: %w", err))
	}
	rc.UserAgent = "webservice-controller/" + version + " (" + runtime.GOOS + "/" + runtime.GOARCH + ")"
	return rc, nil
}
