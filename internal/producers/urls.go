package producers

// SplitURL returns the scheme, host and path of a URL: the host with the port but without the user, and the path with the leading
// slash but without a query or fragment. All are empty for a text without "://".
func SplitURL[T []byte | string](url T) (scheme, host, path T) {
	colon := 0
	for colon+3 <= len(url) && string(url[colon:colon+3]) != "://" {
		colon++
	}
	if colon+3 > len(url) {
		return scheme, host, path
	}
	start := colon + 3
	end, slash := start, len(url)
	for end < len(url) && url[end] != '?' && url[end] != '#' {
		switch {
		case slash < len(url):
		case url[end] == '/':
			slash = end
		case url[end] == '@':
			start = end + 1
		}
		end++
	}
	slash = min(slash, end)
	return url[:colon], url[start:slash], url[slash:end]
}
