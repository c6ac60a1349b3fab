package cli

// exitMeaning is an exit code with what it says.
type exitMeaning struct {
	code    int
	meaning string
}

// exitsOf are the exit codes of a command whose caller may care which one it is: of
// several that apply, the one of the first in the order 64, 1, 3, 5, 4, 2, 0.
func exitsOf(command string) []exitMeaning {
	called := exitMeaning{exitUsage, "called wrongly, or settings or kubeconfig that can't be used"}
	switch command {
	case "run":
		return []exitMeaning{{exitOK, "stopped by a signal"}, {exitFailed, "the out directory or the HTTP port can't be had"}, called}
	case "once":
		return []exitMeaning{
			{exitOK, "converged"},
			{exitFailed, "something failed"},
			{exitInvalid, "a file can't be used; all else is done"},
			{exitHeld, "deletions are held, and wait for approve"},
			{exitWaiting, "still waiting at the timeout, or the source can't be read or is empty"},
			called,
		}
	case "plan":
		return []exitMeaning{
			{exitOK, "nothing to do"},
			{exitFailed, "something fails, or the cluster can't be read"},
			{exitChanges, "there are changes, or something is held or waits"},
			{exitInvalid, "a file can't be used"},
			{exitWaiting, "the source can't be read or is empty"},
			called,
		}
	case "verify":
		return []exitMeaning{
			{exitOK, "proven, and converged"},
			{exitFailed, "not proven, or something failed"},
			{exitInvalid, "proven, but a file can't be used"},
			{exitHeld, "proven, but deletions are held, and wait for approve"},
			{exitWaiting, "still waiting at the timeout, or the source can't be read or is empty"},
			called,
		}
	case "approve":
		return []exitMeaning{{exitOK, "approved"}, {exitFailed, "not approved: something else is held now, or nothing"}, called}
	case "validate":
		return []exitMeaning{{exitOK, "the files can be used"}, {exitInvalid, "they can't, or a PATH can't be read"}, called}
	case "export":
		return []exitMeaning{
			{exitOK, "exported, or there was nothing to export"},
			{exitFailed, "not exported: files are in the way, or the cluster can't be read"},
			{exitInvalid, "exported, but the source would refuse what warnings name"},
			called,
		}
	}
	return nil
}
