package config

// mostSlips is how many letters a name may be away from the one that was meant.
const mostSlips = 2

// nearest is the setting whose name is nearest to a mistyped one, nil where none is
// near. spelling is how names are written where it stands.
func nearest(all []setting, name string, spelling func(*setting) string) *setting {
	var found *setting
	least := mostSlips + 1
	for i := range all {
		if n := slips(name, spelling(&all[i])); n < least {
			found, least = &all[i], n
		}
	}
	return found
}

// slips is how many letters must be put in, left out or replaced to make b of a, or
// more than mostSlips.
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
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
