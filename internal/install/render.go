package install

import (
	"bytes"
	"slices"

	"labhub.io/webservice-controller/manifests"
)

// Render is all that is to be applied for an installation, as one stream of YAML
// documents in an order in which each finds what it needs.
func Render(o *Options) ([]byte, error) {
	workload := manifests.Deployment()
	if !o.Files.fromGit() {
		workload = manifests.Folder()
	}
	var objects []object
	for _, part := range []struct {
		text []byte
		make func([]object) []object
	}{
		{manifests.RBAC(), o.rights},
		{manifests.Network(), o.network},
		{workload, func(shipped []object) []object { return []object{o.deployment(shipped[0])} }},
	} {
		shipped, err := read(part.text)
		if err != nil {
			return nil, err
		}
		objects = append(objects, part.make(shipped)...)
	}
	text, err := write(objects)
	// The definition is printed as it was generated, with its separator.
	return append(bytes.TrimRight(manifests.CRD(), "\n"), slices.Insert(text, 0, '\n')...), err
}

// off are the keys that are off.
func (o *Options) off() []string {
	if o.Files.fromGit() {
		return o.Off
	}
	return append(slices.Clone(o.Off), GitSync)
}
