package metrics

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"p2pnode/internal/require"
)

var (
	documented = regexp.MustCompile("(?m)^\\| `(p2pnode_[a-z0-9_]+)` \\| ([a-z]+) \\| ([^|]+) \\| ([^|]*) \\| (.+) \\|$")
	described  = regexp.MustCompile(`(?m)^# HELP ([a-z0-9_]+) (.+)\n# TYPE [a-z0-9_]+ ([a-z]+)$`)
	named      = regexp.MustCompile(`\b(?:p2pnode|libp2p|go|process)_[a-z0-9_]+`)
	labelled   = regexp.MustCompile(`(?m)^([a-z0-9_]+)\{(.*)\} `)
	label      = regexp.MustCompile(`([a-z]+)="([^"]*)"`)
	expression = regexp.MustCompile(`(?m)^ +expr: (.+)$`)
)

// docs/metrics.md has every metric that a daemon answers, and no other.
func TestMetricsAreDocumented(t *testing.T) {
	page := read(t, "docs/metrics.md")
	rows := make(map[string][]string)
	for _, m := range documented.FindAllStringSubmatch(page, -1) {
		rows[m[1]] = m[2:]
	}
	a, _ := pair(t)
	text := ours(a.scrape(t))
	for _, m := range described.FindAllStringSubmatch(text, -1) {
		row := rows[m[1]]
		if row == nil {
			t.Errorf("docs/metrics.md has no %s", m[1])
			continue
		}
		if row[0] != m[3] || row[3] != m[2] {
			t.Errorf("docs/metrics.md says of %s that it is a %s, %q; it is a %s, %q", m[1], row[0], row[3], m[3], m[2])
		}
		checkUnit(t, m[1], row[1])
		delete(rows, m[1])
		for _, sample := range labelled.FindAllStringSubmatch(text, -1) {
			if sample[1] == m[1] {
				checkLabels(t, m[1], row[2], sample[2])
			}
		}
	}
	for name := range rows {
		t.Errorf("docs/metrics.md has %s, and a daemon does not", name)
	}
	if len(text) < 1000 {
		t.Errorf("a daemon answers %q only", text)
	}
}

// checkUnit insists that the documented unit is that of the name.
func checkUnit(t *testing.T, name, unit string) {
	t.Helper()
	for _, base := range []string{"seconds", "bytes"} {
		if has := strings.Contains(name, "_"+base); has != strings.Contains(unit, base) {
			t.Errorf("docs/metrics.md gives %s the unit %q", name, unit)
		}
	}
}

// checkLabels insists that a row names the labels of a sample, and the words among their values.
func checkLabels(t *testing.T, name, row, labels string) {
	t.Helper()
	for _, l := range label.FindAllStringSubmatch(labels, -1) {
		_, values, listed := strings.Cut(row, "`"+l[1]+"`")
		if !listed {
			t.Errorf("docs/metrics.md does not say that %s has the label %s", name, l[1])
		} else if strings.HasPrefix(values, ": ") && !strings.Contains(values, l[2]) {
			t.Errorf("docs/metrics.md does not say that %s may have %s", name, l[0])
		}
	}
}

// The dashboard and the alerts use metrics that a daemon answers.
func TestDashboardAndAlertsUseWhatThereIs(t *testing.T) {
	a, _ := pair(t)
	known := make(map[string]bool)
	for _, m := range described.FindAllStringSubmatch(a.scrape(t), -1) {
		for _, suffix := range []string{"", "_bucket", "_sum", "_count"} {
			if suffix == "" || m[3] == "histogram" || m[3] == "summary" && suffix != "_bucket" {
				known[m[1]+suffix] = true
			}
		}
	}
	var alerts []string
	for _, m := range expression.FindAllStringSubmatch(read(t, "deploy/prometheus/alerts.yml"), -1) {
		alerts = append(alerts, m[1])
	}
	for what, list := range map[string][]string{"alert": alerts, "dashboard": dashboard(t)} {
		if len(list) < 10 {
			t.Errorf("found %d expressions only: %s", len(list), what)
		}
		for _, e := range list {
			for _, name := range named.FindAllString(e, -1) {
				if !known[name] {
					t.Errorf("%s: a daemon has no %s in %s", what, name, e)
				}
			}
		}
	}
}

// Every alert has a unit test for promtool, which the nightly run starts.
func TestAlertsAreTested(t *testing.T) {
	tests := read(t, "deploy/prometheus/alerts_test.yml")
	for _, m := range regexp.MustCompile(`(?m)alert: (\w+)$`).FindAllStringSubmatch(read(t, "deploy/prometheus/alerts.yml"), -1) {
		if !strings.Contains(tests, "alertname: "+m[1]+"\n") {
			t.Errorf("no test of %s", m[1])
		}
	}
}

// dashboard returns the expressions of the dashboard.
func dashboard(t *testing.T) (list []string) {
	t.Helper()
	var d struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(read(t, "deploy/grafana/p2pnode.json")), &d))
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			list = append(list, target.Expr)
		}
	}
	return list
}

// read reads a file of the project.
func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../..", path))
	require.NoError(t, err)
	return string(data)
}
