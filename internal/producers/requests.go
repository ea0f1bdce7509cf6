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
//	u                            text other than addresses, without query and fragment
//
// It appends nothing for a request without address and method.
func AppendRequestName(to, method, url []byte) []byte {
	start := len(to)
	if len(method) > 0 && string(method) != "GET" {
		to = append(append(to, method...), ' ')
	}
	if to = appendAddress(to, url); len(to)-start > maxRequestName {
		to = append(to[:start], bytes.ToValidUTF8(to[start:start+maxRequestName], nil)...)
	}
	return bytes.TrimSpace(to)
}

func appendAddress(to, url []byte) []byte {
	if n := len("data:"); len(url) >= n && bytes.EqualFold(url[:n], []byte("data:")) {
		return append(append(to, "data:"...), url[n:n+max(bytes.IndexAny(url[n:], ",;"), 0)]...)
	}
	_, host, path := SplitURL(url)
	if len(host) == 0 {
		if i := bytes.IndexAny(url, "?#"); i >= 0 {
			url = url[:i]
		}
		return append(to, withoutUser(url)...)
	}
	if path = lastParts(bytes.TrimPrefix(path, []byte("/"))); len(path) > 0 {
		to = append(append(to, withoutUser(path)...), " · "...)
	}
	return append(to, host...)
}

// withoutUser returns what comes after a user's name and password: an address may be part of a path.
func withoutUser(text []byte) []byte {
	if at := bytes.LastIndexByte(text, '@'); at >= 0 && bytes.IndexByte(text[:at], ':') >= 0 {
		return text[at+1:]
	}
	return text
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
