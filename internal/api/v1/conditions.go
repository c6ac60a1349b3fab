package v1

// ReadyCondition is the type of the one condition that the controller writes.
const ReadyCondition = "Ready"

// Reasons of the condition Ready. Reconciled goes with True, the others with False.
const (
	// ReasonReconciled: the ConfigMap says what the spec says.
	ReasonReconciled = "Reconciled"
	// ReasonProgressing: the controller is about to act, or waits for something
	// that comes about by itself.
	ReasonProgressing = "Progressing"
	// ReasonNameConflict: the ConfigMap's name is taken by someone else's object.
	ReasonNameConflict = "NameConflict"
	// ReasonNameTooLong: the ConfigMap's name would be longer than a name may be.
	ReasonNameTooLong = "NameTooLong"
	// ReasonNotAccepted: the server keeps something other than what was written.
	ReasonNotAccepted = "NotAccepted"
	// ReasonFailed: the last step failed and is tried again.
	ReasonFailed = "Failed"
	// ReasonDependencyNotReady: an object named in depends-on isn't ready yet.
	ReasonDependencyNotReady = "DependencyNotReady"
	// ReasonContested: somebody else keeps changing what the controller writes.
	ReasonContested = "Contested"
)
