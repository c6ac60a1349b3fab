package config

import "slices"

// given is a value that the user chose, and where.
type given struct {
	value  any
	origin string
}

// layer is what one place says: the flags, the variables or the file.
type layer struct {
	values map[string]given
	errs   []error
}

func newLayer() *layer { return &layer{values: map[string]given{}} }

// take reads a value in the form of flags and variables.
func (l *layer) take(s *setting, origin, text string) {
	value, err := s.kind.parse(text)
	if err != nil {
		l.fail(s.key, origin, err.Error())
		return
	}
	l.put(s.key, given{value: value, origin: origin})
}

// put refuses to choose between two values for one key.
func (l *layer) put(key string, g given) {
	if other, twice := l.values[key]; twice {
		l.fail(key, g.origin, "is set by "+other.origin+" as well: write one of them")
		return
	}
	l.values[key] = g
}

func (l *layer) fail(key, origin, message string) {
	l.errs = append(l.errs, &SettingError{Key: key, Origin: origin, Message: message})
}

// find is the setting with exactly this key, nil when there is none.
func find(all []setting, key string) *setting {
	i := slices.IndexFunc(all, func(s setting) bool { return s.key == key })
	if i < 0 {
		return nil
	}
	return &all[i]
}
