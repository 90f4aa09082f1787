// Command schemas writes the JSON schemas of Kubernetes' objects, a file for each, as
// kubeconform reads them with -strict: nothing but what the API knows is allowed.
//
//	schemas --out DIR swagger.json
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	out := flag.String("out", "", "directory for the schemas")
	flag.Parse()
	if *out == "" || flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: schemas --out DIR swagger.json")
		os.Exit(2)
	}
	if err := write(*out, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "schemas:", err)
		os.Exit(1)
	}
}

// definitions is the file to which all others refer.
const definitions = "_definitions.json"

func write(dir, swagger string) error {
	data, err := os.ReadFile(swagger)
	if err != nil {
		return err
	}
	var api struct {
		Definitions map[string]map[string]any `json:"definitions"`
	}
	if err := json.Unmarshal(data, &api); err != nil {
		return fmt.Errorf("%s: %w", swagger, err)
	}
	for name, d := range api.Definitions {
		tighten(d)
		loosen(name, d)
		for _, file := range kinds(d) {
			if err := save(filepath.Join(dir, file), map[string]any{"$ref": definitions + "#/definitions/" + name}); err != nil {
				return err
			}
		}
	}
	return save(filepath.Join(dir, definitions), map[string]any{"definitions": api.Definitions})
}

func save(path string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}

// tighten forbids keys that an object has not.
func tighten(schema map[string]any) {
	if _, ok := schema["properties"]; ok {
		schema["additionalProperties"] = false
	}
}

// loosen allows what the API takes beside what the description says.
func loosen(name string, schema map[string]any) {
	switch {
	case strings.HasSuffix(name, ".Quantity"):
		schema["type"] = []string{"string", "number"}
	case schema["format"] == "int-or-string":
		schema["type"] = []string{"string", "integer"}
		delete(schema, "format")
	}
}

// kinds are the names of the files of an object, as kubeconform looks for them.
func kinds(schema map[string]any) (files []string) {
	list, _ := schema["x-kubernetes-group-version-kind"].([]any)
	for _, one := range list {
		k, _ := one.(map[string]any)
		group, _ := k["group"].(string)
		version, _ := k["version"].(string)
		kind, _ := k["kind"].(string)
		if group, _, _ = strings.Cut(group, "."); group != "" {
			version = group + "-" + version
		}
		files = append(files, strings.ToLower(kind+"-"+version)+".json")
	}
	return files
}
