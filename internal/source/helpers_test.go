package source

import (
	"unicode/utf16"

	"k8s.io/apimachinery/pkg/types"
)

type namespacedName = types.NamespacedName

func utf16Units(text string) []uint16 { return utf16.Encode([]rune(text)) }
