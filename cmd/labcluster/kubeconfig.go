package main

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// adminConfig is a client with every right. QPS -1: the server's own priority and fairness does the limiting.
func adminConfig(ca *authority, address string) (*rest.Config, error) {
	pair, err := ca.issue(pkix.Name{CommonName: "labcluster-admin", Organization: []string{"system:masters"}}, x509.ExtKeyUsageClientAuth)
	if err != nil {
		return nil, fmt.Errorf("issue the admin certificate: %w", err)
	}
	return &rest.Config{
		Host:            "https://" + address,
		QPS:             -1,
		TLSClientConfig: rest.TLSClientConfig{CAData: ca.pem, CertData: pair.cert, KeyData: pair.key},
	}, nil
}

func (h *home) writeKubeconfig(client *rest.Config) error {
	const name = "labcluster"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: client.Host, CertificateAuthorityData: client.CAData}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{ClientCertificateData: client.CertData, ClientKeyData: client.KeyData}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	data, err := clientcmd.Write(*config)
	if err == nil {
		err = writePrivate(h.path(kubeconfigFile), data)
	}
	if err != nil {
		return fmt.Errorf("write the kubeconfig: %w", err)
	}
	return nil
}
