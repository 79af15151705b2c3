// Command generate compiles the .proto files of the folder above into Go, with the compiler of bufbuild/protocompile and the official
// protoc-gen-go; no protoc is needed. From the columns that they describe (package column) it also writes the rows of ClickHouse's
// tables and of the archive, with their conversion from records. It runs in the folder schemas: go run ./generate.
package main
