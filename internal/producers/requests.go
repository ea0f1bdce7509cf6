package producers

import "bytes"

// maxRequestName bounds the name of a request. Its whole address is an argument.
const maxRequestName = 512

// AppendRequestName appends the name of a network request, so that what tells requests apart comes first:
//
//	g.js · adadvisor.net         the file and the host
//	POST api/cart · e.org:8080   the method where it is not GET; two parts of the path where the last one has no dot
//	e.org                        the root of a host
//	data:image/png               of data only the type
//	u                            what is no address, without query and fragment
//
// It appends nothing for a request without address and method.
func AppendRequestName(to, method, url []byte) []byte {
	if len(method) > 0 && string(method) != "GET" {
		to = append(append(to, method...), ' ')
	}
	start := len(to)
	if to = appendAddress(to, url); len(to)-start > maxRequestName {
		to = append(to[:start], bytes.ToValidUTF8(to[start:start+maxRequestName], nil)...)
	}
	return bytes.TrimSpace(to)
}

func appendAddress(to, url []byte) []byte {
	if data, ok := bytes.CutPrefix(url, []byte("data:")); ok {
		if i := bytes.IndexAny(data, ",;"); i >= 0 {
			url = url[:len("data:")+i]
		}
		return append(to, url...)
	}
	_, host, path := SplitURL(url)
	if len(host) == 0 {
		if i := bytes.IndexAny(url, "?#"); i >= 0 {
			url = url[:i]
		}
		return append(to, url...)
	}
	if path = lastParts(bytes.TrimPrefix(path, []byte("/"))); len(path) > 0 {
		to = append(append(to, path...), " · "...)
	}
	return append(to, host...)
}

// lastParts returns the last part of a path, and the one before it if that is not the name of a file: 15 says less than seq/15.
func lastParts(path []byte) []byte {
	end := len(bytes.TrimRight(path, "/"))
	at := bytes.LastIndexByte(path[:end], '/')
	if at > 0 && bytes.IndexByte(path[at+1:end], '.') < 0 {
		at = bytes.LastIndexByte(path[:at], '/')
	}
	return path[at+1:]
}
