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

// TestPrivacyTextsAreThoseOfTheDocs: what the apps tell their users is what the page says is true.
func TestPrivacyTextsAreThoseOfTheDocs(t *testing.T) {
	page := plain(strings.NewReplacer("\n> ", " ", "\n>", " ", "*", "").Replace(read(t, docs)))
	texts := map[string][]string{}
	for _, tok := range split(t, read(t, "Activity/PrivacyView.swift")) {
		if text, long := strings.CutPrefix(tok.text, `"""`); long {
			texts["iOS"] = append(texts["iOS"], strings.ReplaceAll(strings.TrimSuffix(text, `"""`), "\\\n", ""))
		}
	}
	android := read(t, "../android-sample/app/src/main/res/values/strings.xml")
	if m := regexp.MustCompile(`(?s)<string name="privacy_text">(.*?)</string>`).FindStringSubmatch(android); m != nil {
		texts["Android"] = strings.Split(strings.ReplaceAll(m[1], `\'`, "'"), `\n\n`)
	}
	for _, system := range []string{"Android", "iOS"} {
		if len(texts[system]) != 5 {
			t.Errorf("%s: %d paragraphs, want 5", system, len(texts[system]))
		}
		for _, text := range texts[system] {
			if !strings.Contains(page, plain(text)) {
				t.Errorf("%s: not on the page: %s", system, plain(text))
			}
		}
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
