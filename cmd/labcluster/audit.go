package main

import (
	"fmt"
	"os"
	"path/filepath"
)

const auditPolicyFile = "audit-policy.yaml"

// auditPolicy records who asked for what and the answer's code, never a body: a Secret must not end up in a log.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
`

// auditFlags make the server write an event before it answers, so that whoever has the answer can count the request.
func auditFlags(h *home, file string) ([]string, error) {
	if file == "" {
		return nil, nil
	}
	path, err := filepath.Abs(file)
	if err != nil {
		return nil, fmt.Errorf("find --audit %s: %w", file, err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("--audit must be a file that you may write: %w", err)
	}
	if err := f.Close(); err != nil {
		return nil, fmt.Errorf("close --audit %s: %w", file, err)
	}
	if err := writePrivate(h.path(auditPolicyFile), []byte(auditPolicy)); err != nil {
		return nil, fmt.Errorf("write the audit policy: %w", err)
	}
	return []string{
		"--audit-log-path=" + path,
		"--audit-log-format=json",
		"--audit-log-mode=blocking",
		"--audit-log-maxsize=1000000", // megabytes: a reader at an offset must never be rotated away
		"--audit-policy-file=" + h.path(auditPolicyFile),
	}, nil
}
