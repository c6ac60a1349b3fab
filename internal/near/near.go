// Package near guesses what was meant by a mistyped name. It guesses for a message
// alone: nothing is ever done by it.
package near

import (
	"slices"
	"strings"
)

const (
	// mostSlips is how many letters a name may be away from the one that was meant.
	mostSlips = 2
	// longest is the longest name that is looked at.
	longest = 100
)

// Name is the known name that a mistyped one is closest to, the first of several; ""
// if none is close. Upper and lower case count as the same.
func Name(mistyped string, known []string) string {
	if len(mistyped) > longest {
		return ""
	}
	lower := strings.ToLower(mistyped)
	best, least := "", mostSlips+1
	for _, candidate := range known {
		// Of a short name two letters may be all of it.
		if n := slips(lower, strings.ToLower(candidate)); n < least && n < len(candidate)/2+1 {
			best, least = candidate, n
		}
	}
	return best
}

// slips counts the letters to add, remove or replace to make b of a; two neighbours
// that are swapped count as two.
func slips(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + slices.Min([]int{diagonal, row[j], row[j+1]})
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
