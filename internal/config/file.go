package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"go.yaml.in/yaml/v3"
)

// defaultFile is read from the working directory when there is one.
const defaultFile = "config.yaml"

// fromFile reads the configuration file, and says which one. Without a chosen
// one the default file may be missing.
func fromFile(chosen string) (*layer, string) {
	path, origin := chosen, "flag --"+configFlag
	if path == "" {
		path, origin = defaultFile, "default"
	}
	data, err := os.ReadFile(path)
	l := newLayer()
	switch {
	case chosen == "" && errors.Is(err, fs.ErrNotExist):
		return l, ""
	case err != nil:
		l.fail(configFlag, origin, err.Error()+": write the path of a readable file")
	default:
		f := file{layer: l, path: path, all: settings()}
		f.read(data)
	}
	return l, path
}

// file reads one configuration file. Keys are compared here, with the raw
// text: viper lower-cases them, and would let log.LEVEL pass.
type file struct {
	*layer
	path string
	all  []setting
}

func (f *file) read(data []byte) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var first, second yaml.Node
	err := decoder.Decode(&first)
	if errors.Is(err, io.EOF) {
		return
	}
	if err == nil && !errors.Is(decoder.Decode(&second), io.EOF) {
		err = errors.New("holds more than one YAML document: write one")
	}
	if err != nil {
		f.fail("", f.path, err.Error())
		return
	}
	f.section("", first.Content[0])
}

// section walks one mapping. A section without a value is one whose keys are
// all commented out.
func (f *file) section(path string, node *yaml.Node) {
	switch {
	case isNull(node):
	case node.Kind != yaml.MappingNode:
		f.fail(path, f.at(node), "isn't a section: write keys below it, each on a line of its own with its value")
	default:
		for i := 0; i+1 < len(node.Content); i += 2 {
			f.entry(path, node.Content[i], node.Content[i+1])
		}
	}
}

func (f *file) entry(section string, key, value *yaml.Node) {
	path := key.Value
	if section != "" {
		path = section + "." + key.Value
	}
	s := find(f.all, path)
	switch {
	case strings.Contains(key.Value, "."):
		f.fail(path, f.at(key), "isn't a key: write each part of a path as a section of its own")
	case s != nil:
		f.value(s, f.at(key), value)
	case f.isSection(path):
		f.section(path, value)
	default:
		f.fail(path, f.at(key), unknown(f.all, path, func(s *setting) string { return s.key }))
	}
}

func (f *file) isSection(path string) bool {
	for i := range f.all {
		if strings.HasPrefix(f.all[i].key, path+".") {
			return true
		}
	}
	return false
}

func (f *file) value(s *setting, origin string, node *yaml.Node) {
	value, err := decode(s.kind, node)
	if err != nil {
		f.fail(s.key, origin, err.Error())
		return
	}
	f.put(s.key, given{value: value, origin: origin})
}

func (f *file) at(node *yaml.Node) string { return fmt.Sprintf("%s:%d", f.path, node.Line) }

func isNull(node *yaml.Node) bool { return node.ShortTag() == "!!null" }
