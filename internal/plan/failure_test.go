package plan

import (
	"errors"
	"testing"
)

func TestFailure(t *testing.T) {
	t.Parallel()
	cause := errors.New("admission webhook says no at 12:00")
	f := &Failure{Class: Refused, Phrase: "an admission webhook refused it", Err: cause}
	if f.Error() != cause.Error() || !errors.Is(f, cause) {
		t.Errorf("%q; want the server's own text, and the cause to be found", f)
	}
	f.Err = nil
	if f.Error() != "an admission webhook refused it" || errors.Is(f, cause) {
		t.Errorf("%q; want the phrase", f)
	}
}
