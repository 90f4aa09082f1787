// Package wire holds the protobuf types of package gossip. They are generated;
// package gossip checks every field before anything else sees it.
package wire

// It needs protoc (package protobuf-compiler); the plugin is a tool of this module.
//go:generate sh -c "protoc --plugin=protoc-gen-go=`go tool -n protoc-gen-go` --go_out=. --go_opt=paths=source_relative wire.proto"
