package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// parse reads the text of a flag, a variable or a scalar in the file. It is
// stricter than viper, which turns what it can't read into a zero. The error
// says what to write.
func (k kind) parse(value string) (any, error) {
	switch k {
	case boolean:
		return parseBool(value)
	case integer:
		return parseInt(value)
	case duration:
		return parseDuration(value)
	case names:
		return parseNames(value)
	default:
		return value, nil
	}
}

func parseBool(value string) (any, error) {
	switch value {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return nil, fmt.Errorf("%q isn't a truth value: write true or false", value)
}

func parseInt(value string) (any, error) {
	n, err := strconv.Atoi(value)
	if err != nil {
		return nil, fmt.Errorf("%q isn't a whole number: write one such as 16", value)
	}
	return n, nil
}

func parseDuration(value string) (any, error) {
	d, err := time.ParseDuration(value)
	if err != nil || strings.Trim(value, "+-0") == "" {
		return nil, fmt.Errorf("%q isn't a duration: write a number with its unit, such as 500ms, 30s or 2m", value)
	}
	return d, nil
}

// parseNames refuses a list of nothing but commas and blanks: no name at all means
// every one, and that isn't meant by a slip. Only the empty text says it.
func parseNames(value string) (any, error) {
	list := splitNames(value)
	if len(list) == 0 && value != "" {
		return nil, fmt.Errorf("%q names nothing: write names with commas in between, or leave it away", value)
	}
	return list, nil
}

// splitNames leaves out empty parts and repetitions, so that "" is no name at
// all and a comma at the end does no harm.
func splitNames(value string) []string {
	list := []string{}
	for part := range strings.SplitSeq(value, ",") {
		part = strings.TrimSpace(part)
		if part != "" && !slices.Contains(list, part) {
			list = append(list, part)
		}
	}
	return list
}

// format is the inverse of parse, in the shortest form.
func format(value any) string {
	switch v := value.(type) {
	case time.Duration:
		return shortDuration(v)
	case []string:
		return strings.Join(v, ",")
	default:
		return fmt.Sprint(v)
	}
}

// shortDuration leaves out the zero units of Duration.String: 2m, not 2m0s.
func shortDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
