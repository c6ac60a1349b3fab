package source

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// canon builds a text from which the parts can be told apart again: every part
// goes with its length. Equal digests then mean equal parts.
type canon []byte

func (c *canon) text(s string) {
	*c = binary.AppendUvarint(*c, uint64(len(s)))
	*c = append(*c, s...)
}

func (c *canon) number(n int) { *c = binary.AppendVarint(*c, int64(n)) }

func (c *canon) texts(list []string) {
	c.number(len(list))
	for _, s := range list {
		c.text(s)
	}
}

func (c *canon) table(m map[string]string) {
	c.number(len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		c.text(key)
		c.text(m[key])
	}
}

func (c *canon) key(k types.NamespacedName) {
	c.text(k.Namespace)
	c.text(k.Name)
}

func (c *canon) sum() string {
	sum := sha256.Sum256(*c)
	return hex.EncodeToString(sum[:])
}

// digest covers all of o but where it is written.
func (o *Object) digest() string {
	c := make(canon, 0, 256)
	c.key(o.Key)
	c.table(o.Labels)
	c.table(o.Annotations)
	c.texts(o.Finalizers)
	c.text(o.Image)
	if o.Replicas == nil {
		c.number(-1)
	} else {
		c.number(int(*o.Replicas))
	}
	if o.Tier == nil {
		c.number(0)
	} else {
		c.number(1)
		c.text(*o.Tier)
	}
	if o.Suspended {
		c.text("suspended")
	} else {
		c.text("")
	}
	c.number(len(o.DependsOn))
	for _, k := range o.DependsOn {
		c.key(k)
	}
	return c.sum()
}

// digest covers the objects and the broken names of a snapshot, in sorted order.
func (s *Snapshot) digest() string {
	c := make(canon, 0, 128*len(s.Objects))
	c.number(len(s.Objects))
	for _, key := range slices.SortedFunc(maps.Keys(s.Objects), compareKeys) {
		c.text(s.Objects[key].Digest)
	}
	for _, key := range slices.SortedFunc(maps.Keys(s.Broken), compareKeys) {
		c.key(key)
	}
	return c.sum()
}

func compareKeys(a, b types.NamespacedName) int {
	if d := strings.Compare(a.Namespace, b.Namespace); d != 0 {
		return d
	}
	return strings.Compare(a.Name, b.Name)
}
