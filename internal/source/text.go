package source

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

const byteOrderMark = '\uFEFF'

// readText makes a file's bytes into UTF-8 that a YAML reader can take, or says
// what is wrong with the file as a whole. The text comes back with a fault too,
// as far as it could be decoded.
func readText(data []byte) ([]byte, *fault) {
	if len(data) > MaxFileSize {
		f := tooLarge(int64(len(data)))
		return nil, &f
	}
	text, f := decode(data)
	if f != nil {
		return text, f
	}
	text = dropMarks(text)
	for _, check := range []func([]byte) *fault{blank, pointerFile, unreadableRune, mergeConflict} {
		if f := check(text); f != nil {
			return text, f
		}
	}
	return text, nil
}

func tooLarge(size int64) fault {
	return fault{message: fmt.Sprintf("the file has %d bytes, more than the limit of %d: split it", size, MaxFileSize)}
}

// tooLong is for a text whose size nobody knows.
func tooLong() fault {
	return fault{message: fmt.Sprintf("the text is longer than the limit of %d bytes: split it", MaxFileSize)}
}

func tooManyDocuments() fault {
	return fault{message: fmt.Sprintf("the file has more than %d documents: split it", MaxDocuments)}
}

// decode makes UTF-16 with a byte order mark into UTF-8: some shells redirect
// output that way.
func decode(data []byte) ([]byte, *fault) {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(data, []byte{0xFF, 0xFE}):
		order = binary.LittleEndian
	case bytes.HasPrefix(data, []byte{0xFE, 0xFF}):
		order = binary.BigEndian
	default:
		return data, nil
	}
	if len(data)%2 != 0 {
		return nil, &fault{message: "the file is UTF-16 that breaks off in the middle of a character: save it as UTF-8"}
	}
	text := make([]byte, 0, len(data)/2)
	for i := 0; i < len(data); i += 2 {
		r := rune(order.Uint16(data[i:]))
		if utf16.IsSurrogate(r) && i+3 < len(data) {
			r = utf16.DecodeRune(r, rune(order.Uint16(data[i+2:])))
			i += 2
		}
		if r == utf8.RuneError || utf16.IsSurrogate(r) {
			line, column := position(text)
			return text, &fault{line: line, column: column, message: "the file isn't valid UTF-16: save it as UTF-8"}
		}
		text = utf8.AppendRune(text, r)
	}
	return text, nil
}

// dropMarks removes the byte order mark from the head of the file, and from the
// head of lines: joined files have them there, where they would hide a separator.
func dropMarks(text []byte) []byte {
	mark := []byte(string(byteOrderMark))
	text = bytes.TrimPrefix(text, mark)
	if !bytes.Contains(text, mark) {
		return text
	}
	return bytes.ReplaceAll(text, append([]byte{'\n'}, mark...), []byte{'\n'})
}

// blank refuses a file without a visible character: a save that was cut off looks
// like that, and must not look like a deletion.
func blank(text []byte) *fault {
	if len(bytes.Trim(text, " \t\r\n")) > 0 {
		return nil
	}
	return &fault{message: "the file is empty: remove it, or leave a comment in it where it is meant to hold nothing"}
}

func pointerFile(text []byte) *fault {
	if !bytes.HasPrefix(text, []byte("version https://git-lfs.github.com/spec/")) {
		return nil
	}
	return &fault{line: 1, column: 1, message: "the file is a git-lfs pointer: fetch its content with git lfs pull"}
}

// unreadableRune finds the first character that YAML doesn't allow anywhere.
func unreadableRune(text []byte) *fault {
	for i := 0; i < len(text); {
		if c := text[i]; c >= 0x20 && c < 0x7F || c == '\n' || c == '\r' || c == '\t' {
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		if message := runeFault(r, size); message != "" {
			line, column := position(text[:i])
			return &fault{line: line, column: column, message: message}
		}
		i += size
	}
	return nil
}

func runeFault(r rune, size int) string {
	switch {
	case r == utf8.RuneError && size == 1:
		return "the file isn't valid UTF-8: save it as UTF-8"
	case r == 0:
		return "the file holds a NUL byte: save it as text in UTF-8"
	case r < 0x20, r == 0x7F, r >= 0x80 && r < 0xA0 && r != 0x85,
		r == byteOrderMark, r == 0xFFFE, r == 0xFFFF:
		return fmt.Sprintf("the file holds the control character %U: remove it, or write it as an escape in double quotes", r)
	default:
		return ""
	}
}

// mergeConflict finds what git leaves behind: the file is two versions at once.
func mergeConflict(text []byte) *fault {
	number := 0
	for line := range lines(text) {
		number++
		for _, marker := range []string{"<<<<<<<", ">>>>>>>"} {
			rest, found := bytes.CutPrefix(line, []byte(marker))
			if found && (len(rest) == 0 || rest[0] == ' ') {
				return &fault{line: number, column: 1, message: "the file has a merge conflict: resolve it, and remove git's marks"}
			}
		}
	}
	return nil
}
