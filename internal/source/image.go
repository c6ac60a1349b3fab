package source

import (
	"strings"
	"unicode"
)

// imageFlaw says what makes an image a name that no registry has, though the API
// takes it; "" where nothing does.
func imageFlaw(image string) string {
	for _, mark := range []string{"{{", "${", "$("} {
		if strings.Contains(image, mark) {
			return "holds " + mark + ": render the template first"
		}
	}
	switch {
	case strings.ContainsFunc(image, unicode.IsSpace):
		return "holds a blank: take it out"
	case strings.ContainsAny(image, `"'‘’“”„‚«»`):
		return "holds a quote: take it out"
	default:
		return ""
	}
}
