package labtest

import (
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

func loadKubeconfig(t testing.TB, path string) *api.Config {
	t.Helper()
	config, err := clientcmd.LoadFromFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// saveKubeconfig writes with mode 0600.
func saveKubeconfig(t testing.TB, config *api.Config, path string) {
	t.Helper()
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
}

func currentUser(config *api.Config) *api.AuthInfo {
	return config.AuthInfos[config.Contexts[config.CurrentContext].AuthInfo]
}

func currentCluster(config *api.Config) *api.Cluster {
	return config.Clusters[config.Contexts[config.CurrentContext].Cluster]
}

func emptyUser() *api.AuthInfo { return api.NewAuthInfo() }
