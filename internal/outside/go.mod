module example.com/outside

go 1.26.0

require (
	github.com/weft-trace/weft v0.0.0
	google.golang.org/protobuf v1.36.12
)

require github.com/klauspost/compress v1.20.3 // indirect

replace github.com/weft-trace/weft => ../..
