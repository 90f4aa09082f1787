package main

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"p2pnode/testnet/lab"
)

// TestMain puts p2pnode, as built for this test, first in PATH: scripts and
// tests run it as a process of its own.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == underName {
		lab.RunUnder()
	}
	// Under the race detector every process sleeps a second before it exits,
	// which adds up.
	if err := os.Setenv("GORACE", os.Getenv("GORACE")+" atexit_sleep_ms=10"); err != nil {
		panic(err)
	}
	testscript.Main(m, map[string]func(){"p2pnode": main})
}

// patience bounds every wait for something that takes a moment. It only has to
// be longer than a busy machine needs.
const patience = 4 * time.Minute

// between is the time between two commands that ask for the same thing: each costs a tenth of a
// second of processor.
const between = 200 * time.Millisecond

// TestScript runs testdata/script.
func TestScript(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:   filepath.Join("testdata", "script"),
		Setup: setupScript,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":      exits,
			"until":      until,
			"mode":       mode,
			"await":      await,
			"crlf":       crlf,
			"replace":    replace,
			"bootstrap":  bootstrap,
			"authority":  authority,
			"invite":     invite,
			"self":       self,
			"flip":       flip,
			"committee":  committee,
			"result":     result,
			"incomplete": incomplete,
		},
		Deadline:            time.Now().Add(5 * time.Minute), // for a command that should end and does not
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

// setupScript gives every script the files in testdata/files.
func setupScript(env *testscript.Env) error {
	env.Setenv("HOME", env.WorkDir)
	env.Setenv("GORACE", os.Getenv("GORACE"))
	env.Setenv("LONG", strings.Repeat("long", 25))
	dispatcher, err := filepath.Abs(filepath.Join("..", "..", "deploy", "networkmanager", "90-p2pnode"))
	if err != nil {
		return err
	}
	env.Setenv("DISPATCHER", dispatcher)
	return os.CopyFS(env.WorkDir, os.DirFS(filepath.Join("testdata", "files")))
}

// exits CODE COMMAND... runs a command that ends with that exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	code := 0
	if exit, ok := errors.AsType[*exec.ExitError](ts.Exec(args[1], args[2:]...)); ok {
		code = exit.ExitCode()
	}
	if code != want {
		ts.Fatalf("exit code %d, want %d", code, want)
	}
}

// until PATTERN COMMAND... runs a command again and again until it succeeds and
// its output matches.
func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: until PATTERN COMMAND...")
	}
	pattern := regexp.MustCompile("(?m)" + args[0])
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(between) {
		if ts.Exec(args[1], args[2:]...) == nil && pattern.MatchString(ts.ReadFile("stdout")) {
			return
		}
	}
	ts.Fatalf("no match for %#q within %v", args[0], patience)
}

// await FILE waits until a file exists.
func await(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: await FILE")
	}
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(ts.MkAbs(args[0])); err == nil {
			return
		}
	}
	ts.Fatalf("no %s within %v", args[0], patience)
}

// replace OLD NEW FROM TO copies a text file with the one OLD in it replaced.
func replace(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: replace OLD NEW FROM TO")
	}
	text := ts.ReadFile(args[2])
	if n := strings.Count(text, args[0]); n != 1 {
		ts.Fatalf("%s has %d %q, want one", args[2], n, args[0])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[3]), []byte(strings.Replace(text, args[0], args[1], 1)), 0o600))
}

// mode PERM FILE... checks the permissions of files.
func mode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: mode PERM FILE...")
	}
	want, err := strconv.ParseUint(args[0], 8, 32)
	ts.Check(err)
	for _, name := range args[1:] {
		info, err := os.Stat(ts.MkAbs(name))
		ts.Check(err)
		if info.Mode().Perm() != fs.FileMode(want) {
			ts.Fatalf("%s has mode %v, want %v", name, info.Mode().Perm(), fs.FileMode(want))
		}
	}
}

// crlf FROM TO copies a text file the way Windows programs write it: a byte
// order mark first, and lines that end with CR LF.
func crlf(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: crlf FROM TO")
	}
	text := "\ufeff" + strings.ReplaceAll(ts.ReadFile(args[0]), "\n", "\r\n")
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(text), 0o600))
}

// flip FILE EXPORT changes a bit of the last entry of an exported ledger in the
// database that it came from.
func flip(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: flip FILE EXPORT")
	}
	lines := strings.Split(strings.TrimSpace(ts.ReadFile(args[1])), "\n")
	var last struct{ CRC string }
	ts.Check(json.Unmarshal([]byte(lines[len(lines)-1]), &last))
	crc, err := hex.DecodeString(last.CRC)
	ts.Check(err)
	slices.Reverse(crc) // little endian on disk
	data := []byte(ts.ReadFile(args[0]))
	file, err := os.OpenFile(ts.MkAbs(args[0]), os.O_WRONLY, 0)
	ts.Check(err)
	defer file.Close()
	flipped := 0
	for at := bytes.Index(data, crc); at >= 0; at = bytes.Index(data, crc) {
		data[at] ^= 1 // pages that nothing uses may have it too
		_, err := file.WriteAt(data[at:at+1], int64(at))
		ts.Check(err)
		flipped++
	}
	if flipped == 0 {
		ts.Fatalf("%s has no entry with the CRC %s", args[0], last.CRC)
	}
}

// bootstrap DIR sets BOOTSTRAP to the address of the daemon of that directory, which
// answers a moment before it has one.
func bootstrap(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: bootstrap DIR")
	}
	line := `^address +(\S+)$`
	until(ts, false, []string{line, "p2pnode", "status", "--dir", args[0]})
	ts.Setenv("BOOTSTRAP", regexp.MustCompile("(?m)" + line).FindStringSubmatch(ts.ReadFile("stdout"))[1])
}

// invite DIR FLAG... sets TICKET to a ticket of the daemon of that directory, and TYPO to the
// same with two characters swapped.
func invite(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: invite DIR FLAG...")
	}
	bootstrap(ts, false, args[:1])
	ts.Check(ts.Exec("p2pnode", append([]string{"invite", "--dir"}, args...)...))
	ticket := regexp.MustCompile(`(?m)^p2p\S+$`).FindString(ts.ReadFile("stdout"))
	ts.Setenv("TICKET", ticket)
	typo := []byte(ticket)
	for at := 20; ; at++ {
		if typo[at] != typo[at+1] {
			typo[at], typo[at+1] = typo[at+1], typo[at]
			break
		}
	}
	ts.Setenv("TYPO", string(typo))
}

// authority DIR sets AUTHORITY to who signed the membership list of that directory.
func authority(ts *testscript.TestScript, neg bool, args []string) {
	read(ts, neg, args, "AUTHORITY", "signed by ", "members", "list")
}

// self DIR sets SELF to the peer ID of the node of that directory.
func self(ts *testscript.TestScript, neg bool, args []string) {
	read(ts, neg, args, "SELF", "^node +", "status")
}

// read sets a variable to the word that follows something in a command's output.
func read(ts *testscript.TestScript, neg bool, args []string, variable, after string, command ...string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: %s DIR", strings.ToLower(variable))
	}
	ts.Check(ts.Exec("p2pnode", append(command, "--dir", args[0])...))
	ts.Setenv(variable, regexp.MustCompile("(?m)" + after + `(\S+)`).FindStringSubmatch(ts.ReadFile("stdout"))[1])
}
