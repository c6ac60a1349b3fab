package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"syscall"
)

// Stdin stands for standard input among the paths of Check.
const Stdin = "-"

// stdinName is what problems call standard input.
const stdinName = "<stdin>"

// Check reads files and directories once, as they are at this moment, and says
// what they mean together. Unlike a Scanner it waits for nothing: it is for files
// that nobody is writing, and also works while git holds its lock, as in a hook.
//
// Places are given by path as the user named it, so that an editor finds them. A
// path that can't be read is a problem, and so is a directory inside one. A file
// that is named itself is read whatever its name ends in; Stdin reads stdin.
func Check(ctx context.Context, paths []string, stdin io.Reader, opts Options) (*Snapshot, error) {
	c := &checker{opts: opts, stdin: stdin, seen: map[string]bool{}}
	for _, name := range paths {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := c.check(ctx, name); err != nil {
			return nil, err
		}
	}
	return Build(c.files, nil, nil), nil
}

// checker collects the files of Check.
type checker struct {
	opts  Options
	stdin io.Reader
	files []File
	// seen keeps a file that is named twice from being its own duplicate.
	seen map[string]bool
}

// check reads one path. The error is that of ctx alone.
func (c *checker) check(ctx context.Context, name string) error {
	if name == Stdin {
		c.add(stdinName, "", func() ([]byte, error) { return limited(c.stdin) })
		return nil
	}
	info, err := os.Stat(name)
	switch {
	case err != nil:
		c.files = append(c.files, File{Path: filepath.ToSlash(name), Err: err, Directory: true})
	case info.IsDir():
		return c.directory(ctx, name)
	default:
		c.add(filepath.ToSlash(filepath.Clean(name)), name, func() ([]byte, error) { return readPlain(name) })
	}
	return nil
}

// directory reads what a source at that path would be made of.
func (c *checker) directory(ctx context.Context, name string) error {
	root, id, err := openRoot(name)
	if err != nil {
		c.files = append(c.files, File{Path: filepath.ToSlash(name), Err: plainRootError(err), Directory: true})
		return nil
	}
	defer func() { _ = root.Close() }() // it was only read
	tree, err := walk(root)
	if err != nil {
		c.files = append(c.files, File{Path: filepath.ToSlash(name), Err: err, Directory: true})
		return nil
	}
	for i := range tree.entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		c.entry(&tree.entries[i], root, filepath.ToSlash(name), id.path)
	}
	return nil
}

// entry reads one entry of a directory.
func (c *checker) entry(e *entry, root *os.Root, below, real string) {
	name := path.Join(below, e.path)
	switch {
	case e.err != nil:
		c.files = append(c.files, File{Path: name, Err: e.err, Directory: e.directory})
	case e.refused != "":
		c.files = append(c.files, File{Path: name, Parsed: refusal(name, e.refused)})
	default:
		c.add(name, filepath.Join(real, filepath.FromSlash(e.path)), func() ([]byte, error) {
			if e.stamp.size > MaxFileSize {
				return make([]byte, MaxFileSize+1), nil
			}
			return readFile(root, e.path, e.stamp)
		})
	}
}

// add reads and parses one file, unless that was done already under another name.
func (c *checker) add(name, real string, read func() ([]byte, error)) {
	if real != "" {
		if absolute, err := filepath.Abs(real); err == nil {
			real = absolute
		}
		if resolved, err := filepath.EvalSymlinks(real); err == nil {
			real = resolved
		}
		if c.seen[real] {
			return
		}
		c.seen[real] = true
	}
	data, err := read()
	switch {
	case err != nil:
		c.files = append(c.files, File{Path: name, Err: err})
	case len(data) > MaxFileSize:
		c.files = append(c.files, File{Path: name, Parsed: refusal(name, tooLarge(int64(len(data))).message)})
	default:
		c.files = append(c.files, File{Path: name, Parsed: parseNamed(name, data, c.opts)})
	}
}

// parseNamed parses a file whose name needn't say what is in it.
func parseNamed(name string, data []byte, opts Options) *Parsed {
	if path.Ext(name) != ".json" && looksLikeJSON(data) {
		p := &parser{path: name, opts: opts, out: new(Parsed)}
		if text, fault := readText(data); fault == nil {
			p.json(text)
			return p.out
		}
	}
	return Parse(name, data, opts)
}

// looksLikeJSON says whether a text without a telling name is JSON values: only
// such a text may hold several without separators.
func looksLikeJSON(data []byte) bool {
	data = bytes.TrimLeft(data, " \t\r\n\ufeff")
	return len(data) > 0 && data[0] == '{'
}

// limited reads as much as is needed to know that a text is too large.
func limited(r io.Reader) ([]byte, error) { return io.ReadAll(io.LimitReader(r, MaxFileSize+1)) }

// errNotFile: something that isn't a file was named.
var errNotFile = errors.New("isn't a file or a directory")

// readPlain reads a file that was named itself, and never blocks on what isn't one.
func readPlain(name string) ([]byte, error) {
	file, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: %s", errNotFile, info.Mode().Type())
	}
	return limited(file)
}

// plainRootError is the cause of an error that names its path already.
func plainRootError(err error) error {
	var e *RootError
	if errors.As(err, &e) && e.Cause != nil {
		return e.Cause
	}
	if errors.As(err, &e) {
		return e.Reason
	}
	return err
}
