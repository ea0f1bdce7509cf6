package producers

import "bytes"

// maxRequestName bounds the length of a request's name, in bytes. The event's arguments include the whole address.
const maxRequestName = 512

// AppendRequestName appends the name of a network request, the most distinctive part first:
//
//	g.js · adadvisor.net         the file and the host
//	POST api/cart · e.org:8080   the method unless it is GET; two parts of the path if the last one has no dot
//	e.org                        the root of a host
//	data:image/png               only the type of data urls
//	u                            other text, without its query or fragment
//
// It appends nothing for a request with neither an address nor a method.
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

// withoutUser returns the text after a user name and password. It is also used for paths, which may contain an address.
func withoutUser(text []byte) []byte {
	if at := bytes.LastIndexByte(text, '@'); at >= 0 && bytes.IndexByte(text[:at], ':') >= 0 {
		return text[at+1:]
	}
	return text
}

// lastParts returns the last part of a path. If this part is not a file name, the result includes the part before it: seq/15 is
// clearer than 15.
func lastParts(path []byte) []byte {
	end := len(bytes.TrimRight(path, "/"))
	at := bytes.LastIndexByte(path[:end], '/')
	if at > 0 && bytes.IndexByte(path[at+1:end], '.') < 0 {
		at = bytes.LastIndexByte(path[:at], '/')
	}
	return path[at+1:]
}
