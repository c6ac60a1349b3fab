package metrics

// What the metrics mean. The README has the same words.
const (
	helpBuild      = "1, with the version and commit of the program and the Go version that built it."
	helpReconciles = "Turns that objects had, by what came of them: the verdict or, where that is noop, the first write."
	helpDuration   = "How long a turn of an object took, requests included, by what came of it."
	helpErrors     = "Turns of objects that ended with an error, and failed tries to prepare the CRD; waiting is no error."
	helpHealed     = "Writes that put back what somebody else had changed or deleted since this process last saw the object done, with the same file and, for the ConfigMap, the same spec."
	helpDepth      = "Objects that wait for their turn."
	helpOldest     = "How long the object that has waited longest for its turn has; 0 while none waits."
	helpWait       = "How long objects waited for their turn, since something happened to them or the time to wait was over."
	helpCycle      = "How long cycles took: from the first object that can act until none can and the watches have told of all our writes."
	helpDone       = "From the first hint that files have changed, source.quiet and the scan included, until an object that changed with them is Ready. What the start finds, what is deleted or suspended, and changes that newer ones overtake are left out."
	helpRequests   = "Requests to the API server by resource, verb and HTTP status, watches and the Lease included. A watch counts when it begins; the code none is a request without an answer."

	helpReady         = "1 while /readyz says ok, else 0."
	helpLeader        = "1 while this process holds the source's Lease, else 0."
	helpConverged     = "1 while everything is as it should be, else 0."
	helpLastConverged = "Unix time when all was last converged: now while it is, 0 before the first time."
	helpReported      = "Unix time of the last report, which leader, converged, objects, held deletions and all of the source are taken from."
	helpObjects       = "Objects in the report: done, waiting, failing or suspended."
	helpHeld          = "Deletions that are held, until somebody approves them or mends the reason."
	helpProblems      = "Problems in the files."
	helpWarnings      = "Warnings about the files."
	helpWatchMode     = "1 for how changes of the files are noticed, watch or poll, and 0 for the other."
	helpScanInterval  = "The longest time between two looks at the files."
)
