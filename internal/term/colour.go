package term

// Colour is how text stands out. The zero value is plain text.
type Colour string

// The colours, each with what it is for, so that all commands mean the same by it.
// They are the terminal's own sixteen, which its user has chosen to be readable.
const (
	Plain  Colour = ""
	Red    Colour = "31" // failed, goes away
	Green  Colour = "32" // new, as it should be
	Yellow Colour = "33" // changes, waits, warns
	Cyan   Colour = "36" // what to look at or to type
	Bold   Colour = "1"  // headings, verdicts
	Dim    Colour = "2"  // what is only for completeness
)

// Paint is the text in that colour, where the screen has colours. Text from
// elsewhere must have been made harmless before, with Line.
func (s Screen) Paint(c Colour, text string) string {
	if !s.Colour || c == Plain || text == "" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}
