package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"os/exec"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/protoutil"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/pluginpb"
)

func main() {
	log.SetFlags(0)
	if err := run(); err != nil {
		log.Fatal("generate: ", err)
	}
}

func run() error {
	files, err := written(".")
	if err != nil {
		return err
	}
	for name, content := range files {
		if err := os.WriteFile(name, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// written returns the files to write, by their paths from the folder schemas, from the .proto files of a folder.
func written(dir string) (map[string][]byte, error) {
	protos, err := fs.Glob(os.DirFS(dir), "*.proto")
	if err != nil {
		return nil, err
	}
	if len(protos) == 0 {
		return nil, errors.New("no .proto file here; run it in the folder schemas")
	}
	files, err := compile(dir, append(protos, "column/column.proto"))
	if err != nil {
		return nil, err
	}
	response, err := generate(requestOf(files))
	if err != nil {
		return nil, err
	}
	all := make(map[string][]byte)
	for _, f := range response {
		all[f.GetName()] = []byte(f.GetContent())
	}
	return all, addRows(all, files)
}

// compile compiles files of a folder, which may import column/column.proto and the files of Google.
func compile(dir string, protos []string) ([]protoreflect.FileDescriptor, error) {
	compiler := protocompile.Compiler{
		Resolver:       protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: []string{dir}}),
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	files, err := compiler.Compile(context.Background(), protos...)
	if err != nil {
		return nil, err
	}
	var all []protoreflect.FileDescriptor
	for _, f := range files {
		all = append(all, f)
	}
	return all, nil
}

// requestOf returns the request that protoc would send to a plugin for these files.
func requestOf(files []protoreflect.FileDescriptor) *pluginpb.CodeGeneratorRequest {
	request := &pluginpb.CodeGeneratorRequest{Parameter: proto.String("paths=source_relative")}
	// protoc-gen-go requires every file after the files it imports.
	done := make(map[string]bool)
	var add func(protoreflect.FileDescriptor)
	add = func(f protoreflect.FileDescriptor) {
		if done[f.Path()] {
			return
		}
		done[f.Path()] = true
		for i := range f.Imports().Len() {
			add(f.Imports().Get(i).FileDescriptor)
		}
		request.ProtoFile = append(request.ProtoFile, protoutil.ProtoFromFileDescriptor(f))
	}
	for _, f := range files {
		request.FileToGenerate = append(request.FileToGenerate, f.Path())
		add(f)
	}
	return request
}

// generate runs protoc-gen-go on a request.
func generate(request *pluginpb.CodeGeneratorRequest) ([]*pluginpb.CodeGeneratorResponse_File, error) {
	in, err := proto.Marshal(request)
	if err != nil {
		return nil, err
	}
	plugin := exec.Command("go", "run", "google.golang.org/protobuf/cmd/protoc-gen-go")
	plugin.Stdin = bytes.NewReader(in)
	plugin.Stderr = os.Stderr
	out, err := plugin.Output()
	if err != nil {
		return nil, fmt.Errorf("protoc-gen-go: %w", err)
	}
	var response pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(out, &response); err != nil {
		return nil, fmt.Errorf("answer of protoc-gen-go: %w", err)
	}
	if response.Error != nil {
		return nil, fmt.Errorf("protoc-gen-go: %s", response.GetError())
	}
	return response.File, nil
}
