package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// Eval has the page work an expression out; a promise is waited for.
func Eval[T any](p *Page, expression string) T {
	p.Helper()
	out, err := run(p, func(ctx context.Context) (T, error) {
		return chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	})
	if err != nil {
		p.Fatalf("%s: %v", expression, err)
	}
	return out
}

// Text is what the element of a CSS selector says; "" where there is none in sight.
func (p *Page) Text(selector string) string {
	p.Helper()
	return Eval[string](p, fmt.Sprintf(`document.querySelector(%s)?.innerText ?? ""`, quote(selector)))
}

// Eventually waits until an expression is true, and ends the test with what the page
// says by then where that takes longer than timeout.
func (p *Page) Eventually(timeout time.Duration, expression string) {
	p.Helper()
	const period = 20 * time.Millisecond
	deadline := time.Now().Add(timeout)
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for !Eval[bool](p, "Boolean("+expression+")") {
		if time.Now().After(deadline) {
			p.Fatalf("not so within %s: %s\nthe page says:\n%s", timeout, expression, p.Text("body"))
		}
		<-ticker.C
	}
}

// Says waits until the element of a selector says a text, or more than that.
func (p *Page) Says(timeout time.Duration, selector, text string) {
	p.Helper()
	p.Eventually(timeout, fmt.Sprintf(`document.querySelector(%s)?.innerText.includes(%s)`, quote(selector), quote(text)))
}

// Click clicks in the middle of the element of a selector, which it brings in sight.
func (p *Page) Click(selector string) {
	p.Helper()
	at := Eval[[]float64](p, fmt.Sprintf(`(() => {
		const node = document.querySelector(%s);
		node.scrollIntoView({ block: 'center', behavior: 'instant' });
		const box = node.getBoundingClientRect();
		return [box.x + box.width / 2, box.y + box.height / 2];
	})()`, quote(selector)))
	_, err := run(p, func(ctx context.Context) (chromedp.Void, error) {
		return chromedp.Run(ctx, chromedp.MouseClickXY(at[0], at[1]))
	})
	p.must(err)
}

// Type types on the keyboard, into whatever has the focus.
func (p *Page) Type(keys string) {
	p.Helper()
	_, err := run(p, func(ctx context.Context) (chromedp.Void, error) { return chromedp.Run(ctx, chromedp.KeyEvent(keys)) })
	p.must(err)
}

// quote writes a text as JavaScript does.
func quote(text string) string {
	data, err := json.Marshal(text)
	if err != nil {
		return strconv.Quote(text)
	}
	return string(data)
}

// Press presses and releases a key that types nothing, since the page takes it for
// something else.
func (p *Page) Press(key string) {
	p.Helper()
	_, err := run(p, func(ctx context.Context) (chromedp.Void, error) {
		for _, kind := range []input.DispatchKeyEventType{input.DispatchKeyEventTypeRawKeyDown, input.DispatchKeyEventTypeKeyUp} {
			if _, err := chromedp.Call(ctx, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: kind, Key: key}); err != nil {
				return chromedp.Void{}, err
			}
		}
		return chromedp.Void{}, nil
	})
	p.must(err)
}
