package plan

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
)

// AbsencesDigest names a set of absences of the source called name: another
// object, or another uid under a known name, makes it another digest. Their order,
// and how long they have been absent, don't matter.
func AbsencesDigest(name string, absences []Absence) string {
	sorted := slices.SortedFunc(slices.Values(absences), func(a, b Absence) int {
		return cmp.Or(
			cmp.Compare(a.Key.Namespace, b.Key.Namespace),
			cmp.Compare(a.Key.Name, b.Key.Name),
			cmp.Compare(a.UID, b.UID),
		)
	})
	hash := sha256.New()
	write := func(parts ...string) {
		for _, part := range parts {
			hash.Write([]byte(part))
			hash.Write([]byte{0})
		}
	}
	write(name)
	for i := range sorted {
		write(sorted[i].Key.String(), string(sorted[i].UID))
	}
	return hex.EncodeToString(hash.Sum(nil))
}
