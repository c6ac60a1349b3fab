package source

import (
	"time"
	"unicode/utf16"

	"k8s.io/apimachinery/pkg/types"
)

type namespacedName = types.NamespacedName

func utf16Units(text string) []uint16 { return utf16.Encode([]rune(text)) }

// pass lets the fake time of a synctest bubble pass.
func pass(d time.Duration) { <-time.After(d) }
