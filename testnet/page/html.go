package page

import (
	"bytes"
	_ "embed"
	"html/template"
	"io"
)

//go:embed page.html
var source string

var layout = template.Must(template.New("page").Parse(source))

// Write renders the page as HTML.
func (p *Page) Write(w io.Writer) error {
	var b bytes.Buffer
	if err := layout.Execute(&b, p); err != nil {
		return err
	}
	_, err := w.Write(bytes.ToValidUTF8(b.Bytes(), []byte("\uFFFD")))
	return err
}
