module github.com/weft-trace/weft

go 1.26
