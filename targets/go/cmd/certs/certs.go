package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

const (
	// validFor is long, because an expired certificate would break a test years later.
	validFor = 10 * 365 * 24 * time.Hour
	// validSince is far enough in the past for clocks that disagree.
	validSince = 48 * time.Hour
	// expiredSince is how long ago the expired certificate expired.
	expiredSince = 24 * time.Hour

	blockCertificate = "CERTIFICATE"
	blockKey         = "PRIVATE KEY"
)

// leaf is one certificate to be made with its key.
type leaf struct {
	name     string
	use      x509.ExtKeyUsage
	notAfter time.Time
	hosts    []string
	ips      []net.IP
}

func write(directory string) error {
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return err
	}
	now := time.Now()
	authority, err := newAuthority("ceiling test authority", now)
	if err != nil {
		return err
	}
	stranger, err := newAuthority("ceiling other test authority", now)
	if err != nil {
		return err
	}
	err = writeBlock(directory, "ca.pem", 0o644, blockCertificate, authority.certificate.Raw)
	if err != nil {
		return err
	}
	err = writeBlock(directory, "other-ca.pem", 0o644, blockCertificate, stranger.certificate.Raw)
	if err != nil {
		return err
	}
	local := []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	serves, dials := x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth
	end, over := now.Add(validFor), now.Add(-expiredSince)
	for _, leaf := range []leaf{
		{"server", serves, end, []string{"localhost"}, local},
		{"expired", serves, over, []string{"localhost"}, local},
		{"wrongname", serves, end, []string{"other.test"}, nil},
		{"client", dials, end, []string{"client.test"}, nil},
	} {
		if err := authority.issue(directory, leaf, now); err != nil {
			return err
		}
	}
	return nil
}

type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(name string, now time.Time) (authority, error) {
	key, err := newKey()
	if err != nil {
		return authority{}, err
	}
	template, err := newTemplate(name, now, now.Add(validFor))
	if err != nil {
		return authority{}, err
	}
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return authority{}, err
	}
	certificate, err := x509.ParseCertificate(raw)
	return authority{certificate, key}, err
}

func (a authority) issue(directory string, leaf leaf, now time.Time) error {
	key, err := newKey()
	if err != nil {
		return err
	}
	template, err := newTemplate(leaf.name, now, leaf.notAfter)
	if err != nil {
		return err
	}
	template.BasicConstraintsValid = true
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{leaf.use}
	template.DNSNames, template.IPAddresses = leaf.hosts, leaf.ips
	raw, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	if err := writeBlock(directory, leaf.name+".pem", 0o644, blockCertificate, raw); err != nil {
		return err
	}
	return writeBlock(directory, leaf.name+".key", 0o600, blockKey, secret)
}

func newKey() (*ecdsa.PrivateKey, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) }

func newTemplate(name string, now, notAfter time.Time) (*x509.Certificate, error) {
	const serialBits = 127
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), serialBits))
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    now.Add(-validSince),
		NotAfter:     notAfter,
	}, err
}

// writeBlock replaces a file, so that its mode does not depend on an existing one.
func writeBlock(directory, name string, mode os.FileMode, kind string, content []byte) error {
	path := filepath.Join(directory, name)
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return err
	}
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}), mode)
}
