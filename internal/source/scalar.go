package source

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Tags of nodes, in the short form that the YAML reader gives them.
const (
	tagNull     = "!!null"
	tagString   = "!!str"
	tagMapping  = "!!map"
	tagSequence = "!!seq"
)

const quotedStyles = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle

// isPlain says whether a scalar has neither quotes nor a tag, so that its text
// decides what it is.
func isPlain(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Style&(quotedStyles|yaml.TaggedStyle) == 0
}

// isNull says whether a node is written as null, ~ or nothing.
func isNull(n *yaml.Node) bool {
	return n == nil || n.Kind == yaml.ScalarNode && n.Style&quotedStyles == 0 && n.ShortTag() == tagNull
}

var decimal = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)

// typeOf says what YAML readers, of version 1.1 or 1.2, may take a plain scalar
// for, if not for a string: "" where all agree that it is one.
func typeOf(plain string) string {
	switch plain {
	case "", "~", "null", "Null", "NULL":
		return "null"
	case "<<":
		return "a merge key"
	}
	switch strings.ToLower(plain) {
	case "true", "false", "yes", "no", "on", "off", "y", "n":
		return "a boolean"
	case ".inf", "+.inf", "-.inf", ".nan":
		return "a number"
	}
	if isNumber(plain) {
		return "a number"
	}
	return ""
}

// isNumber knows every way to write a number: signs, underscores, and the
// prefixes of hexadecimal, octal and binary ones.
func isNumber(plain string) bool {
	if plain == "" || !strings.ContainsRune("+-.0123456789", rune(plain[0])) {
		return false
	}
	bare := strings.ReplaceAll(plain, "_", "")
	if _, ok := parseInteger(bare); ok {
		return true
	}
	_, err := strconv.ParseUint(bare, 0, 64)
	return err == nil || decimal.MatchString(bare)
}

// parseInteger reads an integer with any prefix.
func parseInteger(bare string) (int64, bool) {
	if n, err := strconv.ParseInt(bare, 0, 64); err == nil {
		return n, true
	}
	sign, digits := "", bare
	if strings.HasPrefix(bare, "-") {
		sign, digits = "-", bare[1:]
	}
	for prefix, base := range map[string]int{"0b": 2, "0o": 8} {
		if rest, found := strings.CutPrefix(digits, prefix); found {
			if n, err := strconv.ParseInt(sign+rest, base, 64); err == nil {
				return n, true
			}
		}
	}
	return 0, false
}

// plainInteger is the one way to write a replica count: no sign, no leading zero,
// nothing but digits.
var plainInteger = regexp.MustCompile(`^(0|[1-9][0-9]*)$`)

// meantInteger is the whole number that a number in another notation stands for.
func meantInteger(written string) (int64, bool) {
	bare := strings.ReplaceAll(strings.TrimSpace(written), "_", "")
	if n, ok := parseInteger(bare); ok {
		return n, true
	}
	if !decimal.MatchString(bare) {
		return 0, false
	}
	f, err := strconv.ParseFloat(bare, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > math.MaxInt32 {
		return 0, false
	}
	return int64(f), true
}
