// Command generate compiles the .proto files of the folder above into Go, with the
// compiler of bufbuild/protocompile and the official protoc-gen-go; no protoc is needed.
// It runs in the folder schemas: go run ./generate.
package main

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/protoutil"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

func main() {
	log.SetFlags(0)
	if err := run(); err != nil {
		log.Fatal("generate: ", err)
	}
}

func run() error {
	protos, err := filepath.Glob("*.proto")
	if err != nil {
		return err
	}
	if len(protos) == 0 {
		return fmt.Errorf("no .proto file here; run it in the folder schemas")
	}
	request, err := compile(protos)
	if err != nil {
		return err
	}
	files, err := generate(request)
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := os.WriteFile(f.GetName(), []byte(f.GetContent()), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// compile returns the request that protoc would send to a plugin for these files.
func compile(protos []string) (*pluginpb.CodeGeneratorRequest, error) {
	compiler := protocompile.Compiler{
		Resolver:       &protocompile.SourceResolver{},
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	files, err := compiler.Compile(context.Background(), protos...)
	if err != nil {
		return nil, err
	}
	descriptors := make(map[string]*descriptorpb.FileDescriptorProto)
	for _, f := range files {
		descriptors[f.Path()] = protoutil.ProtoFromFileDescriptor(f)
	}
	request := &pluginpb.CodeGeneratorRequest{
		FileToGenerate: protos,
		Parameter:      proto.String("paths=source_relative"),
	}
	// protoc-gen-go requires every file after the files it imports.
	done := make(map[string]bool)
	var add func(string)
	add = func(path string) {
		if done[path] {
			return
		}
		done[path] = true
		for _, dependency := range descriptors[path].GetDependency() {
			add(dependency)
		}
		request.ProtoFile = append(request.ProtoFile, descriptors[path])
	}
	for _, path := range protos {
		add(path)
	}
	return request, nil
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
