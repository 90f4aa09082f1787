// Package docs holds the one document that a program serves.
package docs

import _ "embed"

// OpenAPI describes the owner's interface over HTTP, as JSON. A test of package server makes
// it.
//
//go:embed openapi.json
var OpenAPI []byte
