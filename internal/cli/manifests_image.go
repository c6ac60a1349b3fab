package cli

import (
	"cmp"
	"regexp"
	"strings"
)

// imageFlaw says which part an image lacks that it has the mark of, "" where none: a
// variable that is empty in a script leaves such a gap. All else is the registry's to
// judge.
func imageFlaw(image string) string {
	if image == "" {
		return ""
	}
	name, digest, pinned := strings.Cut(image, "@")
	if algorithm, sum, _ := strings.Cut(digest, ":"); pinned && (algorithm == "" || sum == "") {
		return "write a digest after the '@', as in @sha256:…, or leave the '@' out"
	}
	parts := strings.Split(name, "/")
	for i, part := range parts {
		switch word, mark, marked := strings.Cut(part, ":"); {
		case word == "":
			return "a name is missing"
		case marked && mark == "" && i == len(parts)-1:
			return "write a tag after the ':', or leave the ':' out"
		case marked && mark == "":
			return "write a port after the ':', or leave the ':' out"
		}
	}
	return ""
}

// tagged is an image with this version's tag, unless it has a tag or a digest.
func tagged(image, version string) string {
	if name := image[strings.LastIndex(image, "/")+1:]; image == "" || strings.ContainsAny(name, ":@") {
		return image
	}
	return image + ":" + tag(version)
}

// tag is a version as the tag of an image, which can't have every character.
func tag(version string) string {
	version = strings.TrimLeft(regexp.MustCompile(`[^a-zA-Z0-9_.-]+`).ReplaceAllString(version, "-"), "-.")
	return cmp.Or(version[:min(len(version), maxTag)], "latest")
}

// maxTag is how long a tag can be.
const maxTag = 128
