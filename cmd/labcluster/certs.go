package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"slices"
	"time"
)

// The authority and the key that signs service account tokens are kept, so that kubeconfigs and tokens outlive a
// restart. The pairs that they vouch for are made anew at each start: nothing to rotate, nothing to go stale.
const (
	caFile         = "ca.pem" // certificate and key in one file, so that a crash can't leave half of it
	caCertFile     = "ca.crt"
	servingFile    = "serving.pem"
	tokenKeyFile   = "service-account.key"
	certLifetime   = 10 * 365 * 24 * time.Hour
	clockTolerance = time.Hour
)

// keyPair is a certificate and its key, each in PEM.
type keyPair struct{ cert, key []byte }

func (p keyPair) joined() []byte { return slices.Concat(p.cert, p.key) }

type authority struct {
	cert *x509.Certificate
	pem  []byte // the certificate alone
	key  *ecdsa.PrivateKey
}

// loadAuthority reads the cluster's authority, made at the first start.
func loadAuthority(h *home) (*authority, error) {
	data, err := readOrMake(h.path(caFile), newAuthority)
	if err != nil {
		return nil, fmt.Errorf("read the certificate authority: %w", err)
	}
	ca, err := parseAuthority(data)
	if err != nil {
		return nil, fmt.Errorf("%s is damaged: %w; start on another --dir", h.given(caFile), err)
	}
	return ca, writePrivate(h.path(caCertFile), ca.pem)
}

func newAuthority() ([]byte, error) {
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	template := certTemplate(pkix.Name{CommonName: "labcluster"})
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage |= x509.KeyUsageCertSign
	pair, err := sign(template, template, key, key)
	return pair.joined(), err
}

func parseAuthority(data []byte) (*authority, error) {
	certBlock, rest := pem.Decode(data)
	keyBlock, _ := pem.Decode(rest)
	if certBlock == nil || keyBlock == nil {
		return nil, fmt.Errorf("it lacks a certificate or a key")
	}
	cert, err := x509.ParseCertificate(certBlock.Bytes)
	if err != nil {
		return nil, err
	}
	key, err := x509.ParseECPrivateKey(keyBlock.Bytes)
	if err != nil {
		return nil, err
	}
	return &authority{cert: cert, pem: pem.EncodeToMemory(certBlock), key: key}, nil
}

// issue returns a certificate for subject, and its key.
func (a *authority) issue(subject pkix.Name, usage x509.ExtKeyUsage, hosts ...string) (keyPair, error) {
	key, err := newKey()
	if err != nil {
		return keyPair{}, err
	}
	template := certTemplate(subject)
	template.ExtKeyUsage = []x509.ExtKeyUsage{usage}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	return sign(template, a.cert, key, a.key)
}

func sign(template, parent *x509.Certificate, key, signer *ecdsa.PrivateKey) (keyPair, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return keyPair{}, err
	}
	keyPEM, err := encodeKey(key)
	return keyPair{cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), key: keyPEM}, err
}

func certTemplate(subject pkix.Name) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      subject,
		NotBefore:    time.Now().Add(-clockTolerance),
		NotAfter:     time.Now().Add(certLifetime),
		KeyUsage:     x509.KeyUsageDigitalSignature,
	}
}

func newKey() (*ecdsa.PrivateKey, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) }

func newTokenKey() ([]byte, error) {
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	return encodeKey(key)
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}
