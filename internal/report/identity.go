package report

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const (
	identityName  = "identity"
	identityBytes = 8
)

// readIdentity joins the host's name and the id kept in the directory; it
// makes the id when there is none. Only the holder of the lock may call it.
func readIdentity(dir string) (string, error) {
	host, err := os.Hostname()
	if err != nil {
		return "", &WriteError{Path: filepath.Join(dir, identityName), Err: err}
	}
	id, err := keptID(filepath.Join(dir, identityName))
	if err != nil {
		return "", err
	}
	return host + "_" + id, nil
}

// keptID makes a new id in place of one that isn't whole: the lease then
// treats us as a newcomer, which is slower and safe.
func keptID(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", &WriteError{Path: path, Err: err}
	}
	if id := strings.TrimSpace(string(text)); validID(id) {
		return id, nil
	}
	id := newID()
	return id, writeID(filepath.Dir(path), id)
}

func writeID(dir, id string) error {
	return replaceFile(filepath.Join(dir, identityName), func(w io.Writer) error {
		_, err := io.WriteString(w, id+"\n")
		return err
	})
}

func newID() string {
	random := make([]byte, identityBytes)
	rand.Read(random) // never fails
	return hex.EncodeToString(random)
}

func validID(id string) bool {
	decoded, err := hex.DecodeString(id)
	return err == nil && len(decoded) == identityBytes
}
