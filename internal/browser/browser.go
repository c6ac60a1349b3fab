package browser

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// Times that bound every step, on a machine that has other things to do.
const (
	startTimeout = time.Minute
	stepTimeout  = 30 * time.Second
	stopTimeout  = 10 * time.Second
)

// Browser is one that runs until the test's end.
type Browser struct {
	testing.TB
	ctx context.Context
}

// Start starts a browser. One that is missing fails the test, and says what to
// install.
func Start(t testing.TB) *Browser {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program(t)), chromedp.UserDataDir(t.TempDir()), chromedp.WindowSize(1440, 900),
		// Fake screens have no vertical sync to wait for, and their pages may not be
		// slowed down for being behind others.
		chromedp.Flag("disable-gpu", true), chromedp.Flag("hide-scrollbars", true))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // it won't start as root otherwise
	}
	ctx, cancel := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), options...)
	ctx, stop := chromedp.NewContext(ctx)
	started := make(chan error, 1)
	go func() { started <- chromedp.Do(ctx) }()
	select {
	case err := <-started:
		if err != nil {
			t.Fatalf("starting %s: %v", program(t), err)
		}
	case <-time.After(startTimeout):
		cancel()
		t.Fatalf("%s didn't start within %s", program(t), startTimeout)
	}
	t.Cleanup(func() {
		ending, done := context.WithTimeout(ctx, stopTimeout)
		defer done()
		_ = chromedp.Cancel(ending) // what is left of it ends with its allocator
		stop()
		cancel()
	})
	return &Browser{TB: t, ctx: ctx}
}

// program finds the browser by the names that distributions give it.
func program(t testing.TB) string {
	t.Helper()
	names := []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatalf("none of %s is installed: run make test as root on Debian, or install Chromium (Debian: apt-get install chromium)",
		strings.Join(names, ", "))
	return ""
}

// Size is that of a page's screen.
type Size struct{ Width, Height int64 }

// Wide is a screen on a desk.
func Wide() Size { return Size{1440, 900} }

// Phone is one in a hand.
func Phone() Size { return Size{390, 844} }

// Page is an open page. Whatever its script complains of fails the test.
type Page struct {
	*Browser
	ctx context.Context
	// Close closes the page before the test ends.
	Close func()

	mu       sync.Mutex
	messages []string
}

// Open opens a page at url, of that size.
func (b *Browser) Open(url string, size Size) *Page {
	b.Helper()
	ctx, cancel := chromedp.NewContext(b.ctx)
	p := &Page{Browser: b, ctx: ctx}
	b.must(chromedp.Do(ctx))
	console := chromedp.Console(ctx)
	var listening sync.WaitGroup
	listening.Go(func() {
		for m, err := range console {
			if err != nil {
				return
			}
			p.mu.Lock()
			p.messages = append(p.messages, string(m.Type)+": "+m.Text+" ("+m.Source+" "+m.URL+")")
			p.mu.Unlock()
		}
	})
	p.Close = sync.OnceFunc(func() {
		cancel()
		listening.Wait()
	})
	b.Cleanup(p.Close)
	p.Resize(size)
	p.Visit(url)
	return p
}

// Resize gives the page a screen of that size.
func (p *Page) Resize(size Size) {
	p.Helper()
	_, err := run(p, func(ctx context.Context) (chromedp.Void, error) {
		return chromedp.Run(ctx, chromedp.EmulateViewport(size.Width, size.Height))
	})
	p.must(err)
}

// Visit goes to url.
func (p *Page) Visit(url string) {
	p.Helper()
	_, err := run(p, func(ctx context.Context) (chromedp.Void, error) { return chromedp.Run(ctx, chromedp.Navigate(url)) })
	p.must(err)
}

// Theme has the page believe that the system is light or dark.
func (p *Page) Theme(scheme string) {
	p.Helper()
	_, err := run(p, func(ctx context.Context) (struct{}, error) {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return struct{}{}, err
	})
	p.must(err)
}

// Messages are what the page's script and the browser have complained of so far.
func (p *Page) Messages() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.messages...)
}

// Silent fails the test where the page has complained of anything but of what has one
// of these in it.
func (p *Page) Silent(but ...string) {
	p.Helper()
next:
	for _, m := range p.Messages() {
		for _, expected := range but {
			if strings.Contains(m, expected) {
				continue next
			}
		}
		p.Errorf("the page says %q", m)
	}
}

// Screenshot is a picture of what is in sight, as PNG.
func (p *Page) Screenshot() []byte {
	p.Helper()
	data, err := run(p, func(ctx context.Context) ([]byte, error) { return chromedp.Run(ctx, chromedp.CaptureScreenshot()) })
	p.must(err)
	return data
}

func (b *Browser) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// run does one step, which mustn't hang.
func run[T any](p *Page, step func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(p.ctx, stepTimeout)
	defer cancel()
	return step(ctx)
}
