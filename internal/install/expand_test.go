package install

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// expand does what is documented of the kubelet for arguments and for the values of
// variables: $$ is $, $(NAME) is the value of the variable where there is one, and all
// else is left as it is. Here each variable is there, so that none goes unseen.
func expand(text string) string {
	var b strings.Builder
	for text != "" {
		name, rest, closed := strings.Cut(strings.TrimPrefix(text, "$("), ")")
		switch {
		case strings.HasPrefix(text, "$$"):
			b.WriteByte('$')
			text = text[2:]
		case strings.HasPrefix(text, "$(") && closed:
			b.WriteString("<the value of " + name + ">")
			text = rest
		default:
			b.WriteByte(text[0])
			text = text[1:]
		}
	}
	return b.String()
}

func TestExpand(t *testing.T) {
	const value = "<the value of A>"
	for text, want := range map[string]string{
		"": "", "a": "a", "$": "$", "$a": "$a", "$(": "$(", "$(A": "$(A", "$(A)": value, "x$(A)y": "x" + value + "y",
		"$$": "$", "$$$": "$$", "$$$$": "$$", "$$(A)": "$(A)", "$$$(A)": "$" + value, "$$$$(A)": "$$(A)",
	} {
		if got := expand(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestNothingIsExpanded: what the kubelet makes of the manifest is what was asked for.
func TestNothingIsExpanded(t *testing.T) {
	for _, asked := range []string{"a", "$", "$$", "$$x", "$x", "$(POD_NAMESPACE)", "$$(POD_NAMESPACE)", "$$$(A)$", "${x}", "x$(", "$(A)$(B)"} {
		o := defaults()
		o.Files = Files{Repository: asked, Ref: asked, Path: asked}
		o.Variables = []Variable{{"ASKED", asked}}
		_, texts := documents(t, render(t, o))
		var d struct {
			Spec struct {
				Template struct {
					Spec struct {
						Containers []struct {
							Args []string
							Env  []struct{ Name, Value string }
						}
					}
				}
			}
		}
		if err := yaml.Unmarshal([]byte(texts[len(texts)-1]), &d); err != nil {
			t.Fatal(err)
		}
		got := map[string]bool{}
		for _, c := range d.Spec.Template.Spec.Containers {
			for _, arg := range c.Args {
				got[expand(arg)] = true
			}
			for _, v := range c.Env {
				got[v.Name+"="+expand(v.Value)] = true
			}
		}
		for _, want := range []string{"--repo=" + asked, "--ref=" + asked, "ASKED=" + asked, "WEBSERVICE_CONTROLLER_SOURCE_PATH=/files/current/" + asked} {
			if !got[want] {
				t.Errorf("no %q in %v", want, got)
			}
		}
	}
}
