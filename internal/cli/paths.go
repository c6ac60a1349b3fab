package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"labhub.io/webservice-controller/internal/config"
	"labhub.io/webservice-controller/internal/kube"
	"labhub.io/webservice-controller/internal/report"
)

// checkPaths refuses settings under which we would read what we write, or that
// can't name a directory. A directory that isn't there yet is no error: it may come.
func checkPaths(cfg *config.Config) error {
	if err := notAFile(cfg); err != nil {
		return err
	}
	source, err := realPath(cfg.Source.Path)
	if err != nil {
		return usagef("source.path %s: %w", cfg.Source.Path, err)
	}
	out, err := realPath(cfg.Out)
	if err != nil {
		return usagef("out %s: %w", cfg.Out, err)
	}
	if out == source || strings.HasPrefix(out, strings.TrimSuffix(source, "/")+"/") {
		return usagef("out %s lies inside source.path %s: choose a directory outside of it with --out", cfg.Out, cfg.Source.Path)
	}
	return nil
}

func notAFile(cfg *config.Config) error {
	if info, err := os.Stat(cfg.Source.Path); err == nil && !info.IsDir() {
		return usagef("source.path %s is a file: name the directory that it is in", cfg.Source.Path)
	}
	return nil
}

// badOut says what to do about an out directory that can't be had. Of one that is in
// use, the error says it itself.
func badOut(err error) error {
	switch _, ok := errors.AsType[*report.WriteError](err); {
	case ok && errors.Is(err, syscall.ENOTDIR):
		err = fmt.Errorf("%w: choose another directory with --out", err)
	case ok:
		err = fmt.Errorf("%w: make it writable, or choose another directory with --out", err)
	}
	return failed(err)
}

// badKubeconfig says what to do about a kubeconfig that can't be used. Where there is
// none, the error says it itself.
func badKubeconfig(err error) error {
	if errors.Is(err, kube.ErrNoCluster) {
		return usage(err)
	}
	return usagef("%w: mend it, or choose another with --kubeconfig or --context", err)
}

// realPath is the absolute path with every link resolved that exists; what
// doesn't exist yet is kept as it is written.
func realPath(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	rest := ""
	for at := path; ; at = filepath.Dir(at) {
		resolved, err := filepath.EvalSymlinks(at)
		if err == nil {
			return filepath.Join(resolved, rest), nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return path, nil // unreadable: the path as written is the best that is known
		}
		rest = filepath.Join(filepath.Base(at), rest)
	}
}
