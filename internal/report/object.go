package report

import "time"

// Object is everything that is known of one object. Unlike a report it isn't kept:
// it is worked out when somebody looks.
type Object struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Source is the path in the source and the line, "" for a hand-made object.
	Source string `json:"source"`
	// Usable is false where the documents that name the object can't be used.
	Usable bool `json:"usable"`
	// Exists and ConfigMap say whether the cluster has the object and its ConfigMap,
	// and Deleting that somebody has deleted the object.
	Exists    bool `json:"exists"`
	ConfigMap bool `json:"configmap"`
	Deleting  bool `json:"deleting"`
	// UID is "" where the object doesn't exist.
	UID string `json:"uid"`
	// Fields are those of the object and of its ConfigMap, sorted as manifests have
	// them.
	Fields []Field `json:"fields"`
	// Decisions are the last ones that were other than the one before, the newest
	// first.
	Decisions []Decision `json:"decisions"`
}

// Field is what a field should be, what it is, and who owns it.
type Field struct {
	// Target is "webservice/NAME" or "configmap/NAME-desired".
	Target string `json:"target"`
	Path   string `json:"path"`
	// Desired is null where nothing asks for the field, and Actual where it isn't
	// there.
	Desired *string `json:"desired"`
	Actual  *string `json:"actual"`
	// Owners are field managers.
	Owners []string `json:"owners"`
	// Differs: the field or its owner isn't as it should be.
	Differs bool `json:"differs"`
}

// Decision is one step that was taken, or one verdict that was new.
type Decision struct {
	At      time.Time `json:"at"`
	Action  Action    `json:"action"`
	Reason  string    `json:"reason"`
	Target  string    `json:"target"`
	IsError bool      `json:"is_error"`
}
