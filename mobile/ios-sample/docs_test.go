package ios_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

const docs = "../../docs/mobile.md"

// TestDocsQuoteTheSample finds each piece of Swift on the page in a file of the sample.
func TestDocsQuoteTheSample(t *testing.T) {
	var sample string
	for _, path := range swiftFiles(t) {
		sample += read(t, path)
	}
	blocks := regexp.MustCompile("(?s)```swift\n(.*?)```").FindAllStringSubmatch(read(t, docs), -1)
	if len(blocks) == 0 {
		t.Fatal("no Swift on the page")
	}
	for _, b := range blocks {
		if !strings.Contains(sample, b[1]) {
			t.Errorf("not in the sample:\n%s", b[1])
		}
	}
}

// TestPrivacyTextIsThatOfTheDocs: what the app tells its users is what the page says is true.
func TestPrivacyTextIsThatOfTheDocs(t *testing.T) {
	page := plain(strings.NewReplacer("\n> ", " ", "\n>", " ", "*", "").Replace(read(t, docs)))
	paragraphs := 0
	for _, tok := range split(t, read(t, "Activity/PrivacyView.swift")) {
		text, long := strings.CutPrefix(tok.text, `"""`)
		if !long {
			continue
		}
		paragraphs++
		text = plain(strings.ReplaceAll(strings.TrimSuffix(text, `"""`), "\\\n", ""))
		if !strings.Contains(page, text) {
			t.Errorf("not on the page: %s", text)
		}
	}
	if paragraphs != 5 {
		t.Errorf("%d paragraphs, want 5", paragraphs)
	}
}

// plain is a text with single spaces.
func plain(text string) string { return strings.Join(strings.Fields(text), " ") }

// TestProjectKnowsTheNames: iOS ends an app that uses a name its Info.plist does not have.
func TestProjectKnowsTheNames(t *testing.T) {
	project := read(t, "project.yml")
	for _, c := range []struct{ file, constant string }{
		{"Activity/Background.swift", "identifier"}, {"Activity/Bonjour.swift", "service"},
	} {
		m := regexp.MustCompile(`static let ` + c.constant + ` = "(.*)"`).FindStringSubmatch(read(t, c.file))
		if m == nil || !strings.Contains(project, "["+m[1]+"]") {
			t.Errorf("%s: project.yml does not have the %s %q", c.file, c.constant, m)
		}
	}
	for _, m := range regexp.MustCompile(`path: (\.\..*)`).FindAllStringSubmatch(project, -1) {
		if _, err := os.Stat(m[1]); err != nil {
			t.Error(err)
		}
	}
}
