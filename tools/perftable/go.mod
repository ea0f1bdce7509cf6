module github.com/weft-trace/weft/tools/perftable

go 1.26.0

require (
	github.com/klauspost/compress v1.20.3
	github.com/weft-trace/weft v0.0.0
)

require google.golang.org/protobuf v1.36.12 // indirect

replace github.com/weft-trace/weft => ../..
