package main

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"p2pnode/internal/require"
	"p2pnode/node/api"
	"p2pnode/node/client"
	"p2pnode/node/datadir"
	"p2pnode/node/local"
	"p2pnode/node/server"
)

// Prometheus, with the configuration and the alerts of deploy/prometheus, scrapes three
// daemons that learn. Every expression of the dashboard and of the alerts returns data.
func TestPrometheus(t *testing.T) {
	if os.Getenv("P2PNODE_PROMETHEUS") == "" {
		t.Skip("runs nightly: set P2PNODE_PROMETHEUS=yes to let Prometheus scrape daemons")
	}
	checkRules(t)
	f := startFleet(t)
	curl(t, f.daemons[0])
	p := startPrometheus(t, f)
	require.Eventually(t, "all daemons are scraped", func() bool { return len(p.query(t, "up == 1")) == len(f.daemons) })
	for _, e := range append(dashboardExpressions(t), alertExpressions(t)...) {
		require.Eventually(t, e+" has data", func() bool { return len(p.query(t, e)) > 0 })
	}
	require.Eventually(t, "the rules were evaluated", func() bool { return p.rulesAreFine(t) })
}

// The owner reads the metrics at the socket as they are documented, without a token. libp2p
// counts only for those who ask over a network.
func TestMetricsAtTheSocket(t *testing.T) {
	d := start(t, initNode(t))
	c := http.Client{Transport: socketOf(d)}
	answer, err := c.Get("http://" + server.SocketHost + "/metrics")
	require.NoError(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	if answer.StatusCode != http.StatusOK || !strings.Contains(string(text), "\np2pnode_running 1\n") || strings.Contains(string(text), "\nlibp2p_") {
		t.Errorf("%s\n%s", answer.Status, text)
	}
}

func socketOf(d *daemon) *http.Transport {
	dial := client.Socket(local.SocketPath(d.dir))
	return &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }}
}

// curl is the command of docs/metrics.md.
func curl(t *testing.T, d *daemon) {
	t.Helper()
	command := "curl --silent --unix-socket ~/.p2pnode/p2pnode.sock http://localhost/metrics"
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "metrics.md"))
	require.NoError(t, err)
	if !strings.Contains(string(page), "\n"+command+"\n") {
		t.Errorf("docs/metrics.md does not have the command %q", command)
	}
	out, err := exec.Command("sh", "-c", strings.ReplaceAll(command, "~/.p2pnode", d.dir)).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "p2pnode_running 1") {
		t.Errorf("%s: %v\n%s", command, err, out)
	}
}

// fleet is daemons that learn together, and whom Prometheus asks for them.
type fleet struct {
	daemons   []*daemon
	addresses []string
	token     string // the same for all
}

// startFleet starts three daemons, each with an address for who shows the token.
func startFleet(t *testing.T) (f fleet) {
	t.Helper()
	var tokens []byte
	for i := range 3 {
		var dir string
		if i == 0 {
			dir = initNode(t)
			var made api.IssuedToken
			cli(t, &made, "token", "new", "prometheus", "--dir", dir)
			f.token = made.Secret
			var err error
			tokens, err = os.ReadFile(filepath.Join(dir, datadir.TokensFile))
			require.NoError(t, err)
		} else {
			dir = initNode(t, "--bootstrap", f.daemons[0].address)
			require.NoError(t, os.WriteFile(filepath.Join(dir, datadir.TokensFile), tokens, 0o600))
		}
		f.addresses = append(f.addresses, freeAddress(t))
		f.daemons = append(f.daemons, startWith(t, dir, exec.Command("p2pnode", "run", "--json", "--dir", dir, "--api", f.addresses[i])))
		f.daemons[i].status(t) // fits a model
	}
	return f
}

// checkRules lets promtool check the files of deploy/prometheus, and run the tests of the alerts.
func checkRules(t *testing.T) {
	t.Helper()
	for _, args := range []string{"check rules alerts.yml", "test rules alerts_test.yml", "check config --syntax-only prometheus.yml"} {
		cmd := exec.Command("promtool", strings.Fields(args)...)
		cmd.Dir = filepath.Join("..", "..", "deploy", "prometheus")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("promtool %s: %v\n%s", args, err, out)
		}
	}
}

func deployed(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", path))
	require.NoError(t, err)
	return string(text)
}

// dashboardExpressions are those of the dashboard, as Grafana would ask for all daemons.
func dashboardExpressions(t *testing.T) (list []string) {
	t.Helper()
	var d struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	require.NoError(t, json.Unmarshal([]byte(deployed(t, "grafana/p2pnode.json")), &d))
	variables := strings.NewReplacer("$instance", ".*", "$__rate_interval", "30s")
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			list = append(list, variables.Replace(target.Expr))
		}
	}
	return list
}

// alertExpressions are the parts of those of the alerts, without what they compare with, which
// is not so on daemons that are well.
func alertExpressions(t *testing.T) (list []string) {
	t.Helper()
	compared, joined := regexp.MustCompile(` (==|<|>) [0-9.* ]+`), regexp.MustCompile(` (and|unless) `)
	for _, m := range regexp.MustCompile(`(?m)^ +expr: (.+)$`).FindAllStringSubmatch(deployed(t, "prometheus/alerts.yml"), -1) {
		if !compared.MatchString(m[1]) {
			t.Errorf("%s compares nothing", m[1])
		}
		for _, part := range joined.Split(m[1], -1) {
			list = append(list, compared.ReplaceAllString(part, ""))
		}
	}
	return list
}

// prometheus is one that runs.
type prometheus struct{ address string }

// startPrometheus runs Prometheus until the test ends.
func startPrometheus(t *testing.T, f fleet) prometheus {
	t.Helper()
	dir := t.TempDir()
	config := strings.NewReplacer(`"127.0.0.1:8467"`, `"`+strings.Join(f.addresses, `", "`)+`"`, "15s", "1s").Replace(deployed(t, "prometheus/prometheus.yml"))
	for name, text := range map[string]string{"prometheus.yml": config, "alerts.yml": deployed(t, "prometheus/alerts.yml"), "token": f.token} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	p := prometheus{freeAddress(t)}
	log, err := os.Create(filepath.Join(dir, "log"))
	require.NoError(t, err)
	cmd := exec.Command("prometheus", "--config.file="+filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+p.address)
	cmd.Stdout, cmd.Stderr = log, log
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		if text, err := os.ReadFile(log.Name()); t.Failed() && err == nil {
			t.Logf("log of Prometheus:\n%s", text)
		}
	})
	require.Eventually(t, "Prometheus is ready", func() bool {
		answer, err := http.Get("http://" + p.address + "/-/ready")
		return err == nil && answer.Body.Close() == nil && answer.StatusCode == http.StatusOK
	})
	return p
}

// freeAddress is one that nothing listens at.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

// ask asks Prometheus by its API.
func (p prometheus) ask(t *testing.T, path string, data any) {
	t.Helper()
	answer, err := http.Get("http://" + p.address + "/api/v1/" + path)
	require.NoError(t, err)
	defer answer.Body.Close()
	into := struct {
		Status, Error string
		Data          any
	}{Data: data}
	require.NoError(t, json.NewDecoder(answer.Body).Decode(&into))
	if into.Status != "success" {
		t.Fatalf("Prometheus answers %s: %s", path, into.Error)
	}
}

func (p prometheus) query(t *testing.T, expression string) []any {
	t.Helper()
	var data struct{ Result []any }
	p.ask(t, "query?query="+url.QueryEscape(expression), &data)
	return data.Result
}

// rulesAreFine reports whether all alerts were evaluated without an error.
func (p prometheus) rulesAreFine(t *testing.T) bool {
	t.Helper()
	var data struct {
		Groups []struct {
			Rules []struct{ Name, Health, LastError string }
		}
	}
	p.ask(t, "rules", &data)
	seen, all := 0, strings.Count(deployed(t, "prometheus/alerts.yml"), "- alert: ")
	for _, g := range data.Groups {
		for _, r := range g.Rules {
			if r.Health == "err" {
				t.Fatalf("%s: %s", r.Name, r.LastError)
			}
			if r.Health == "ok" {
				seen++
			}
		}
	}
	return seen == all
}
