package plan

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
)

// AbsencesDigest names a set of absences of the source called name: another
// object, or another uid under a known name, makes it another digest. The order
// doesn't matter. absences is sorted by it.
func AbsencesDigest(name string, absences []Absence) string {
	slices.SortFunc(absences, func(a, b Absence) int {
		return cmp.Or(cmp.Compare(a.Key.Namespace, b.Key.Namespace), cmp.Compare(a.Key.Name, b.Key.Name))
	})
	hash := sha256.New()
	write := func(parts ...string) {
		for _, part := range parts {
			hash.Write([]byte(part))
			hash.Write([]byte{0})
		}
	}
	write(name)
	for i := range absences {
		write(absences[i].Key.String(), string(absences[i].UID))
	}
	return hex.EncodeToString(hash.Sum(nil))
}
