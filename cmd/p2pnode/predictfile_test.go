package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"p2pnode/internal/require"
)

// An interrupt ends the command while a pipe is silent, and leaves no file.
func TestInterruptedPredictLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := initNode(t)
	name := filepath.Join(dir, "predictions.csv")
	predict := exec.Command("p2pnode", "predict", "--file", "-", "--out", name, "--dir", dir)
	var said strings.Builder
	predict.Stderr = &said
	in, err := predict.StdinPipe()
	require.NoError(t, err, predict.Start())
	defer in.Close()
	kill := time.AfterFunc(patience, func() { _ = predict.Process.Kill() })
	defer kill.Stop()
	require.Within(t, patience, "the file is there", func() bool { _, err := os.Stat(name); return err == nil })
	require.NoError(t, predict.Process.Signal(os.Interrupt))
	if err := predict.Wait(); err == nil || said.String() != "p2pnode: interrupted before the first row\n" {
		t.Errorf("the interrupted command ends with %v and says %q", err, said.String())
	}
	if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a part of the predictions is left: %v", err)
	}
}

// A line of a pipe is answered before the next one comes.
func TestPredictPipe(t *testing.T) {
	t.Parallel()
	predict := exec.Command("p2pnode", "predict", "--file", "-", "--dir", initNode(t))
	in, err := predict.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := predict.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := predict.Start(); err != nil {
		t.Fatal(err)
	}
	answers := bufio.NewReader(out)
	for i := 1; i <= 3; i++ {
		if _, err := fmt.Fprintf(in, "{\"genres\":\"Comedy\",\"year\":%d}\n", 1900+40*i); err != nil {
			t.Fatal(err)
		}
		if line, err := answers.ReadString('\n'); err != nil || !strings.HasPrefix(line, fmt.Sprintf(`{"line":%d,"row":{`, i)) {
			t.Fatalf("line %d is answered by %q, %v", i, line, err)
		}
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(answers); err != nil || len(rest) > 0 {
		t.Errorf("more: %q, %v", rest, err)
	}
	if err := predict.Wait(); err != nil {
		t.Error(err)
	}
}

// Predictions have the decimal sign of the file.
func TestDecimalSign(t *testing.T) {
	for _, c := range []struct {
		separator rune
		row       []string
		want      string
	}{
		{',', []string{"3,5"}, "."},
		{';', []string{"hall", "55", "3,5", "2.5"}, ","},
		{';', []string{"1,2,3", "2.5"}, "."},
		{';', []string{"12.05", "3,5"}, ","},
		{';', []string{"hall", "55"}, ","},
		{'\t', []string{"hall", "3,5"}, ","},
		{'\t', []string{"hall"}, "."},
	} {
		if got := decimalSign(c.separator, c.row); got != c.want {
			t.Errorf("%q, separated by %q: %q, want %q", c.row, c.separator, got, c.want)
		}
	}
}
