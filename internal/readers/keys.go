package readers

import "bytes"

// keySet contains the keys of all open objects; it is used to find duplicates.
type keySet struct {
	text  []byte   // text of all keys
	ends  []int    // end of each key in text
	first int      // index in ends of the first key of the innermost object
	many  []keyMap // keys of objects with many keys, the innermost object last
}

// keyMap contains the keys of an object with many keys.
type keyMap struct {
	first int // see keySet
	seen  map[string]bool
}

const (
	// fewKeys is the maximum number of keys that are compared one by one.
	fewKeys = 32
	// maxKeys limits the number of keys that are stored for an object.
	maxKeys = 1 << 12
)

// reset removes all objects.
func (k *keySet) reset() { *k = keySet{text: k.text[:0], ends: k.ends[:0]} }

// open starts an object inside the innermost one, and returns the argument for close.
func (k *keySet) open() (outer int) {
	outer = k.first
	k.first = len(k.ends)
	return outer
}

// close ends the innermost object.
func (k *keySet) close(outer int) {
	k.restart()
	k.first = outer
}

// restart removes the keys of the innermost object.
func (k *keySet) restart() {
	if k.seen() != nil {
		k.many = k.many[:len(k.many)-1]
	}
	k.text, k.ends = k.text[:k.start(k.first)], k.ends[:k.first]
}

// seen returns the keys of the innermost object if it has many; otherwise nil.
func (k *keySet) seen() map[string]bool {
	if n := len(k.many); n > 0 && k.many[n-1].first == k.first {
		return k.many[n-1].seen
	}
	return nil
}

// start returns the start of key i in text.
func (k *keySet) start(i int) int {
	if i == 0 {
		return 0
	}
	return k.ends[i-1]
}

// add adds a key to the innermost object. It returns the key, valid until the object is closed, and whether it is new.
func (k *keySet) add(key []byte) (stored []byte, isNew bool) {
	seen := k.seen()
	start := k.start(k.first)
	for i := k.first; i < len(k.ends) && seen == nil; i++ {
		if string(k.text[start:k.ends[i]]) == string(key) {
			return bytes.Clone(key), false
		}
		start = k.ends[i]
	}
	n := len(k.ends) - k.first
	if seen[string(key)] || n == maxKeys {
		return bytes.Clone(key), !seen[string(key)]
	}
	start = len(k.text)
	k.text = append(k.text, key...)
	k.ends = append(k.ends, len(k.text))
	switch {
	case seen != nil:
		seen[string(key)] = true
	case n == fewKeys:
		k.remember()
	}
	return k.text[start:len(k.text):len(k.text)], true
}

// remember builds a map of the keys of the innermost object.
func (k *keySet) remember() {
	seen := make(map[string]bool, 2*fewKeys)
	start := k.start(k.first)
	for _, end := range k.ends[k.first:] {
		seen[string(k.text[start:end])] = true
		start = end
	}
	k.many = append(k.many, keyMap{k.first, seen})
}
