package source

import (
	"bytes"
	"context"
	"errors"
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
		return c.standardInput(ctx)
	}
	shown := filepath.ToSlash(filepath.Clean(name))
	info, err := os.Stat(name)
	switch {
	case err != nil:
		c.files = append(c.files, File{Path: shown, Err: err, Directory: true})
	case info.IsDir():
		return c.directory(ctx, name, shown)
	case !info.Mode().IsRegular():
		c.files = append(c.files, File{Path: shown, Parsed: refusal(shown, notPlain), Directory: true})
	case c.first(placeOf(name)):
		c.add(shown, info.Size(), func() ([]byte, error) { return readPlain(name) })
	}
	return nil
}

// notPlain: what may block, or never end, isn't opened.
const notPlain = "isn't a file or a directory: pipe its content into standard input, and name - instead"

// first says whether a file at that place wasn't read before.
func (c *checker) first(place string) bool {
	again := c.seen[place]
	c.seen[place] = true
	return !again
}

// placeOf is what a file is known by, whatever way leads to it: its directory, with
// links resolved, and its name in there. A link beside the file that it leads to
// has a place of its own, since a source reads both.
func placeOf(name string) string {
	absolute, err := filepath.Abs(name)
	if err != nil {
		return name
	}
	dir, base := filepath.Split(absolute)
	if resolved, err := filepath.EvalSymlinks(dir); err == nil {
		dir = resolved
	}
	return filepath.Join(dir, base)
}

// standardInput reads it once. Whoever waits for a user to type may be interrupted:
// then the reading goes on, for nobody, until the process ends.
func (c *checker) standardInput(ctx context.Context) error {
	if !c.first(Stdin) {
		return nil
	}
	type content struct {
		data []byte
		err  error
	}
	got := make(chan content, 1)
	go func() {
		data, err := limited(c.stdin)
		got <- content{data, err}
	}()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case in := <-got:
		c.add(stdinName, 0, func() ([]byte, error) { return in.data, in.err })
		return nil
	}
}

// directory reads what a source at that path would be made of.
func (c *checker) directory(ctx context.Context, name, shown string) error {
	root, id, err := openRoot(name)
	if err != nil {
		c.files = append(c.files, File{Path: shown, Err: plainRootError(err), Directory: true})
		return nil
	}
	defer func() { _ = root.Close() }() // it was only read
	tree, err := walk(root, new(history))
	if err != nil {
		c.files = append(c.files, File{Path: shown, Err: err, Directory: true})
		return nil
	}
	for i := range tree.entries {
		e := &tree.entries[i]
		if err := ctx.Err(); err != nil {
			return err
		}
		if c.first(filepath.Join(id.path, filepath.FromSlash(e.path))) {
			c.entry(e, root, path.Join(shown, e.path))
		}
	}
	return nil
}

// entry reads one entry of a directory.
func (c *checker) entry(e *entry, root *os.Root, shown string) {
	switch {
	case e.err != nil:
		c.files = append(c.files, File{Path: shown, Err: e.err, Directory: e.directory})
	case e.refused != "":
		c.files = append(c.files, File{Path: shown, Parsed: refusal(shown, e.refused), Directory: e.directory})
	default:
		c.add(shown, e.stamp.size, func() ([]byte, error) { return readFile(root, e.path, e.stamp) })
	}
}

// add reads and parses one file. Size is 0 where it isn't known before.
func (c *checker) add(shown string, size int64, read func() ([]byte, error)) {
	if size > MaxFileSize {
		c.files = append(c.files, File{Path: shown, Parsed: refusal(shown, tooLarge(size).message)})
		return
	}
	data, err := read()
	switch {
	case err != nil:
		c.files = append(c.files, File{Path: shown, Err: err})
	case len(data) > MaxFileSize:
		c.files = append(c.files, File{Path: shown, Parsed: refusal(shown, tooLong().message)})
	default:
		c.files = append(c.files, File{Path: shown, Parsed: parseNamed(shown, data, c.opts)})
	}
}

// parseNamed parses a file whose name needn't say what is in it: without a telling
// name, what isn't good YAML may be JSON values one after the other.
func parseNamed(name string, data []byte, opts Options) *Parsed {
	p := Parse(name, data, opts)
	if readable(name) || len(p.Problems) == 0 {
		return p
	}
	text, fault := readText(data)
	if fault != nil || !looksLikeJSON(text) {
		return p
	}
	values := &parser{path: name, opts: opts, out: new(Parsed)}
	values.json(text)
	return values.out
}

// looksLikeJSON says whether a text begins as a JSON object does.
func looksLikeJSON(text []byte) bool {
	rest, found := bytes.CutPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{"))
	rest = bytes.TrimLeft(rest, " \t\r\n")
	return found && len(rest) > 0 && (rest[0] == '"' || rest[0] == '}')
}

// limited reads as much as is needed to know that a text is too large.
func limited(r io.Reader) ([]byte, error) { return io.ReadAll(io.LimitReader(r, MaxFileSize+1)) }

// readPlain reads a file that was named itself, and never blocks on what has taken
// its place since.
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
		return nil, errChanged
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
