package plan

// Answer is what the server answered to a step: the object that it wrote to, as
// it was then. Others may have changed it since.
type Answer struct {
	// Live is set by steps on the WebService.
	Live Live
	// Child is set by steps on the ConfigMap that leave one.
	Child Child
	// Found: Child wasn't written but found, where ours should have been created
	// or shouldn't be any more. Nothing was written then.
	Found bool
	// Unsent: nothing had to be sent, since it was done for another object already.
	Unsent bool
}

// Take puts what the server answered in the place of what is known now, which
// may be newer: what a write has come to is judged by its own answer.
func (in *Input) Take(a *Answer) {
	if a.Live.Exists() {
		in.Live = a.Live
	}
	if a.Child.Exists() {
		in.Child = a.Child
	}
}
