package producers

// SplitURL returns the scheme of a URL, its host with the port but without the user, and its path with the leading slash but
// without query and fragment. All are empty for a text without "://".
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
