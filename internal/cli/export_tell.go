package cli

import (
	"errors"
	"fmt"
	"strings"

	"labhub.io/webservice-controller/internal/export"
	"labhub.io/webservice-controller/internal/term"
)

// inTheWay is an error where the directory has files that the export would spoil, or
// that would spoil it.
func (x *exporter) inTheWay(target *export.Target) error {
	if n := len(target.Elsewhere); n > 0 {
		return fmt.Errorf("%s %s as well, and of two files neither counts: take %s out there, or export into an empty directory",
			someOf(target.Elsewhere), verb(n, "says what a WebService of this export is", "say what WebServices of this export are"), verb(n, "it", "them"))
	}
	var changed []string
	for i, state := range target.States {
		if state == export.StateChanged {
			changed = append(changed, target.Path(&x.set.Files[i]))
		}
	}
	if n := len(changed); n > 0 && !x.force {
		return fmt.Errorf("%s already, and %s something else: replace %s with --force, or export into another directory",
			someOf(changed)+verb(n, " is there", " are there"), verb(n, "says", "say"), verb(n, "it", "them"))
	}
	return nil
}

// someOf names a few of many.
func someOf(names []string) string {
	const most = 3
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:most], ", ") + " and " + fmt.Sprint(len(names)-most) + " more"
}

func verb(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// tellLeft tells which objects have no file, or one that makes nothing.
func (x *exporter) tellLeft() {
	for _, left := range x.set.Left {
		if left.Terminating {
			x.note(left.Key.String() + " is left out: " + left.Why)
		} else {
			x.warn(left.Key.String() + " is left out: " + left.Why)
		}
	}
	for _, f := range x.set.Files {
		if f.Suspended {
			x.note(f.Key.String() + " is suspended, and so is its file: where the object isn't there, it isn't made before the annotation is taken out")
		}
	}
	if len(x.set.Files) == 0 && len(x.set.Left) == 0 {
		x.note("no WebServices" + x.where() + ", so nothing is exported")
	}
}

// where says in which namespaces was looked, with a blank before.
func (x *exporter) where() string {
	if all := strings.Join(x.namespaces, ", "); all != "" {
		return " in " + all + " (-n names another namespace, -A exports all)"
	}
	return " in the cluster"
}

// tellBeside tells of files in the directory that are about objects which are gone.
func (x *exporter) tellBeside(target *export.Target) {
	for _, gone := range target.Gone {
		x.note(gone.Place + " stays, though " + gone.Key.String() + " isn't in the cluster")
	}
}

// tellWritten lists the files that were written, and sums up.
func (x *exporter) tellWritten(target *export.Target) error {
	var text strings.Builder
	for i, state := range target.States {
		path := oneLine(target.Path(&x.set.Files[i]))
		switch state {
		case export.StateNew:
			text.WriteString("created  " + path + "\n")
		case export.StateChanged:
			text.WriteString("replaced " + path + "\n")
		case export.StateUnchanged:
		}
	}
	if n := len(x.set.Files); n > 0 {
		fmt.Fprintf(&text, "exported: %s; %d created, %d replaced, %d unchanged\n", plural(n, "WebService"),
			target.Count(export.StateNew), target.Count(export.StateChanged), target.Count(export.StateUnchanged))
	}
	_, err := fmt.Fprint(x.p.Stdout, text.String())
	return err
}

// refused is an error where the export isn't one that can be used as it is.
func (x *exporter) refused() error {
	n := 0
	for _, f := range x.set.Files {
		if len(f.Problems) > 0 {
			n++
		}
	}
	for _, left := range x.set.Left {
		if !left.Terminating {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return &exitError{exitInvalid, errors.New("the rest is exported, but the source would refuse " + plural(n, "WebService") +
		" as the cluster has " + verb(n, "it", "them") + ": mend what the warnings name")}
}

func (x *exporter) note(text string) { x.say("note:", term.Cyan, text) }

func (x *exporter) warn(text string) { x.say("warning:", term.Yellow, text) }

func (x *exporter) say(what string, colour term.Colour, text string) {
	screen := term.ScreenOf(x.p.Stderr, x.p.Environ)
	fmt.Fprintln(x.p.Stderr, screen.Paint(colour, what)+" "+oneLine(text))
}
