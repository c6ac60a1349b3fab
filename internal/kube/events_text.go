package kube

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode"
	"unicode/utf8"

	"labhub.io/webservice-controller/internal/plan"
)

// What the API takes of an event's texts, in bytes.
const (
	longestNote     = 1024
	longestInstance = 128
	longestName     = 253
)

// eventID stands for one fact about one object.
type eventID [8]byte

func idOf(e *plan.Event) eventID {
	same := e.Same
	if same == "" {
		same = e.Note
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{e.Key.Namespace, e.Key.Name, string(e.UID), string(e.Reason), same}, "\x00")))
	return eventID(sum[:8])
}

// name is that of the Event: the object's, as far as there is room for it, and what
// tells its events apart.
func (id eventID) name(object string) string {
	suffix := "." + hex.EncodeToString(id[:])
	object = object[:min(len(object), longestName-len(suffix))]
	return strings.TrimRight(object, ".-") + suffix
}

// noteOf makes a text one that the API takes, and that does nothing to the terminal
// on which kubectl shows it as it is.
func noteOf(text string) string {
	text = strings.Map(harmless, strings.ToValidUTF8(text, string(utf8.RuneError)))
	return cut(text, longestNote)
}

func harmless(r rune) rune {
	switch {
	case unicode.IsSpace(r):
		return ' '
	case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
		return utf8.RuneError
	}
	return r
}

// instanceOf makes an identity one that the API takes.
func instanceOf(identity string) string { return cut(identity, longestInstance) }

// cut shortens a text to so many bytes, and says so, without breaking a character.
func cut(text string, most int) string {
	const more = "…"
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-len(more)], "") + more
}
