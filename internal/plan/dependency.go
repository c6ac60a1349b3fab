package plan

import (
	"fmt"
	"slices"

	v1 "labhub.io/webservice-controller/internal/api/v1"
)

// Dependency is another WebService that has to be done first.
type Dependency struct {
	Key Key
	// Ready: its live spec is what its file says, and its status speaks of that
	// spec and says Ready.
	Ready bool
	// Reason says in words why it isn't; "" where it is.
	Reason string
}

// DependsOn lists the objects that in.Dependencies has to tell of: those that the
// file names or, where no usable file names the object itself, those that the
// live one does. A live annotation that can't be read is Decide's to report.
func (in *Input) DependsOn() []Key {
	if d := in.file(); d != nil {
		return d.DependsOn
	}
	keys, err := DependsOnOf(&in.Live, in.Key.Namespace)
	if err != nil {
		return nil
	}
	return keys
}

// DependsOnOf reads the annotation depends-on of a live object in that namespace:
// each object once, in the order of the annotation. It is nil where there is no
// annotation. The error says what to write.
func DependsOnOf(l *Live, namespace string) ([]Key, error) {
	if !l.Exists() {
		return nil, nil
	}
	value, ok := l.Annotations[v1.DependsOnAnnotation]
	if !ok {
		return nil, nil
	}
	names, err := v1.ParseDependsOn(value)
	if err != nil {
		return nil, fmt.Errorf("the annotation %s can't be read: %w", v1.DependsOnAnnotation, err)
	}
	keys := make([]Key, 0, len(names))
	for _, key := range names {
		if key.Namespace == "" {
			key.Namespace = namespace
		}
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// DependencyOf says how far the object called key has come, for those that depend
// on it. desired is what its file states, nil where no usable document names it;
// broken: one that can't be used does.
//
// A suspended object, one with a broken file and one of another source are judged
// by what is live: the file has no say in those. Neither has it in what doesn't
// reach the ConfigMap, such as labels.
func DependencyOf(key Key, desired *Desired, broken bool, live *Live) Dependency {
	if broken {
		desired = nil
	}
	var reason string
	switch {
	case !live.Exists() && broken:
		reason = "it doesn't exist, and its file can't be used"
	case !live.Exists() && desired == nil:
		reason = "it doesn't exist, and no file asks for it"
	case !live.Exists():
		reason = "it doesn't exist yet"
	case live.Terminating():
		reason = "it is being deleted"
	case desired != nil && rules(desired, live) && specDiffers(desired, live):
		reason = "its spec isn't what its file says yet"
	default:
		reason = unready(live)
	}
	return Dependency{Key: key, Ready: reason == "", Reason: reason}
}

// rules says whether the file d is applied to the live object.
func rules(d *Desired, l *Live) bool {
	return !d.Suspended && !l.Suspended() && l.BelongsTo(d.Labels[v1.SourceLabel]) != Anothers
}

// specDiffers says whether applying d would change the spec of l.
func specDiffers(d *Desired, l *Live) bool {
	switch {
	case d.Image != l.Spec.Image:
		return true
	case d.Replicas == nil && l.Fields.Replicas, d.Tier == nil && l.Fields.Tier:
		return true
	}
	return d.Replicas != nil && *d.Replicas != l.Replicas() || d.Tier != nil && tierOf(*d.Tier) != l.Tier()
}

// unready says why the live status doesn't say that the live spec is done; ""
// where it does.
func unready(l *Live) string {
	switch c := readyOf(l.Status.Conditions); {
	case c == nil:
		return "it has no condition " + v1.ReadyCondition + " yet"
	case l.Status.ObservedGeneration != l.Generation, c.ObservedGeneration != l.Generation:
		return "its status doesn't speak of its present spec yet"
	case c.Status != "True":
		return "its condition " + v1.ReadyCondition + " is " + string(c.Status) + " with the reason " + c.Reason
	}
	return ""
}

// judgeDependencies is the verdict where something must be done before the
// object's ConfigMap is made or changed; without an action where nothing must.
func judgeDependencies(in *Input) verdict {
	if in.file() == nil {
		if _, err := DependsOnOf(&in.Live, in.Key.Namespace); err != nil {
			return failing(WebService, err.Error(), blocked("The annotation "+v1.DependsOnAnnotation+" can't be read"))
		}
	}
	var first *Dependency
	for i := range in.Dependencies {
		d := &in.Dependencies[i]
		if d.Key == in.Key {
			return failing(WebService, "it depends on itself: take it out of its own annotation "+v1.DependsOnAnnotation,
				blocked("It depends on itself"))
		}
		if first == nil && !d.Ready {
			first = d
		}
	}
	if first == nil {
		return verdict{}
	}
	name := first.Key.String()
	return wait(WebService, "waits for "+name+": "+first.Reason, blocked("Waits for "+name+", which isn't ready"))
}

func blocked(message string) readiness {
	return readiness{reason: v1.ReasonDependencyNotReady, message: message}
}
