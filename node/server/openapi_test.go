package server

import (
	"bytes"
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"p2pnode/docs"
	"p2pnode/internal/require"
	"p2pnode/node/client"
)

var renew = flag.Bool("renew", false, "write docs/openapi.json anew")

// docs/openapi.json, which the server answers with, is what the handlers say of themselves,
// and what the comments say of the fields.
func TestOpenAPI(t *testing.T) {
	description := New(Config{Owner: client.New(client.Socket(t.TempDir() + "/none"))}).routes().huma.OpenAPI()
	describe(t, description.Components.Schemas)
	made, err := json.MarshalIndent(description, "", "  ")
	require.NoError(t, err)
	made = append(made, '\n')
	if *renew {
		require.NoError(t, os.WriteFile("../../docs/openapi.json", made, 0o644))
	} else if !bytes.Equal(made, docs.OpenAPI) {
		t.Error("docs/openapi.json is not what the handlers and comments say; to renew it, run: go test ./node/server -run TestOpenAPI -renew")
	}
}

// describe describes each property by the comment of its field, if that has one.
func describe(t *testing.T, schemas huma.Registry) {
	said := make(map[string]map[string]string) // by the path of a package
	for name, schema := range schemas.Map() {
		kind := schemas.TypeFromRef("#/components/schemas/" + name)
		if kind == nil || kind.Kind() != reflect.Struct {
			continue
		}
		for _, f := range reflect.VisibleFields(kind) {
			key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			property, of := schema.Properties[key], kind
			if property == nil || property.Description != "" {
				continue
			}
			if above := f.Index[:len(f.Index)-1]; len(above) > 0 {
				of = kind.FieldByIndex(above).Type
			}
			if of.Kind() == reflect.Pointer {
				of = of.Elem()
			}
			dir, ours := strings.CutPrefix(of.PkgPath(), "p2pnode/")
			if ours && said[dir] == nil {
				said[dir] = comments(t, filepath.Join("../..", dir))
			}
			property.Description = said[dir][of.Name()+"."+f.Name]
		}
	}
}

// comments are those of a package's fields, by the names of type and field.
func comments(t *testing.T, dir string) map[string]string {
	out := make(map[string]string)
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		require.NoError(t, err)
		for n := range ast.Preorder(file) {
			spec, _ := n.(*ast.TypeSpec)
			if spec == nil {
				continue
			}
			fields, ok := spec.Type.(*ast.StructType)
			if !ok {
				continue
			}
			for _, f := range fields.Fields.List {
				for _, field := range f.Names {
					out[spec.Name.Name+"."+field.Name] = plainComment(f.Doc.Text() + " " + f.Comment.Text())
				}
			}
		}
	}
	return out
}

var linked = regexp.MustCompile(`\[([A-Za-z][\w./]*)\]`)

// plainComment is a comment for who reads JSON: without links and without Go's nil.
func plainComment(text string) string {
	text = linked.ReplaceAllString(strings.Join(strings.Fields(text), " "), "$1")
	return regexp.MustCompile(`\bnil\b`).ReplaceAllString(text, "null")
}
