module github.com/weft-trace/weft/tools/perftable

go 1.26.0

require (
	github.com/klauspost/compress v1.20.3
	github.com/weft-trace/weft v0.0.0
)

replace github.com/weft-trace/weft => ../..
