package term

import (
	"io"
	"slices"
	"strings"
)

// Table is rows of cells below titles. On a terminal it takes no more room than
// there is: cells that are too wide go on in the next line, so nothing is lost.
type Table struct {
	screen Screen
	titles []Cell
	rows   [][]Cell
}

// Cell is one cell's text. What comes from elsewhere needn't be made harmless
// before.
type Cell struct {
	Text   string
	Colour Colour
}

// Text is a plain cell.
func Text(text string) Cell { return Cell{Text: text} }

// In is the cell in that colour.
func (c Cell) In(colour Colour) Cell {
	c.Colour = colour
	return c
}

// Table makes an empty table for the screen.
func (s Screen) Table(titles ...string) *Table {
	t := &Table{screen: s}
	for _, title := range titles {
		t.titles = append(t.titles, Text(title).In(Bold))
	}
	return t
}

// Row adds a row: a cell for each title. Cells that are left out at the end are
// empty.
func (t *Table) Row(cells ...Cell) {
	row := make([]Cell, len(t.titles))
	for i := range min(len(cells), len(row)) {
		row[i] = Cell{Text: Line(cells[i].Text), Colour: cells[i].Colour}
	}
	t.rows = append(t.rows, row)
}

// Len is the number of rows.
func (t *Table) Len() int { return len(t.rows) }

// Write writes titles and rows to w, each with a line's end.
func (t *Table) Write(w io.Writer) error {
	widths := t.widths()
	var b strings.Builder
	t.lay(&b, t.titles, widths)
	for _, row := range t.rows {
		t.lay(&b, row, widths)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

const (
	// gap is between two columns.
	gap = "  "
	// least is how narrow a column may become.
	least = 8
)

// widths are those that the columns need, or, where that is more than there is,
// what the widest leave to the others.
func (t *Table) widths() []int {
	widths := make([]int, len(t.titles))
	for _, row := range append([][]Cell{t.titles}, t.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], Columns(cell.Text))
		}
	}
	for over := t.over(widths); over > 0; over-- {
		widest := slices.Index(widths, slices.Max(widths))
		if widths[widest] <= least {
			break
		}
		widths[widest]--
	}
	return widths
}

// over is by how much columns of these widths are too wide for the screen.
func (t *Table) over(widths []int) int {
	if t.screen.Width == 0 {
		return 0
	}
	sum := len(gap) * (len(widths) - 1)
	for _, width := range widths {
		sum += width
	}
	return sum - t.screen.Width
}

// lay writes a row, in as many lines as its longest cell needs.
func (t *Table) lay(b *strings.Builder, row []Cell, widths []int) {
	cells, height := make([][]string, len(row)), 1
	for i, cell := range row {
		cells[i] = Wrap(cell.Text, widths[i])
		height = max(height, len(cells[i]))
	}
	for y := range height {
		blanks := 0 // owed until there is text after them: lines end with their text
		for i, lines := range cells {
			text := ""
			if y < len(lines) {
				text = lines[y]
			}
			if text != "" {
				b.WriteString(strings.Repeat(" ", blanks))
				b.WriteString(t.screen.Paint(row[i].Colour, text))
				blanks = 0
			}
			blanks += max(widths[i]-Columns(text), 0) + len(gap)
		}
		b.WriteByte('\n')
	}
}
