package main

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"
)

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
