package v1

// EventReason says what kind of fact an Event about a WebService tells.
type EventReason string

// Reasons of Events. Those of the type Normal tell what the controller has done.
const (
	// EventCreated: the object, or the ConfigMap of one made by hand, was created.
	EventCreated EventReason = "Created"
	// EventAdopted: an object that no source had is the source's now.
	EventAdopted EventReason = "Adopted"
	// EventUpdated: what its file, or its spec, says anew was written.
	EventUpdated EventReason = "Updated"
	// EventDriftHealed: what somebody else had changed was taken back.
	EventDriftHealed EventReason = "DriftHealed"
	// EventCleanedUp: a deleted object's ConfigMap is gone, and our finalizer is off.
	EventCleanedUp EventReason = "CleanedUp"
	// EventDeleted: the object was deleted, since its file is gone.
	EventDeleted EventReason = "Deleted"
)

// Reasons of Events of the type Warning: they tell what keeps an object from being
// as it should be.
const (
	// EventNameConflict: the ConfigMap's name is taken by someone else's object.
	EventNameConflict EventReason = ReasonNameConflict
	// EventNameTooLong: the ConfigMap's name would be longer than a name may be.
	EventNameTooLong EventReason = ReasonNameTooLong
	// EventFieldContested: somebody else keeps changing a field back.
	EventFieldContested EventReason = "FieldContested"
	// EventNotAccepted: the server keeps something other than what was written.
	EventNotAccepted EventReason = ReasonNotAccepted
	// EventFailed: a step failed, or was refused, and is tried again.
	EventFailed EventReason = ReasonFailed
	// EventDeletionHeld: the object's file is gone, and its deletion waits for a
	// person.
	EventDeletionHeld EventReason = "DeletionHeld"
)

// Warns is true for the reasons of the type Warning.
func (r EventReason) Warns() bool {
	switch r {
	case EventCreated, EventAdopted, EventUpdated, EventDriftHealed, EventCleanedUp, EventDeleted:
		return false
	default:
		return true
	}
}
