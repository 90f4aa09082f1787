// Command narrow checks the types of packages, and of all that they import, for a processor
// whose int has 32 bits. It reads the sources: nothing has to be compiled for it.
package main

import (
	"fmt"
	"os"

	"golang.org/x/tools/go/packages"
)

func main() {
	all, err := packages.Load(&packages.Config{
		Mode: packages.LoadAllSyntax,
		Env:  append(os.Environ(), "GOOS=linux", "GOARCH=arm", "GOARM=7", "CGO_ENABLED=0"),
		// Nothing is built, but go list refuses what could not be linked.
		BuildFlags: []string{"-buildmode=default"},
	}, os.Args[1:]...)
	if err != nil {
		fmt.Fprintln(os.Stderr, "narrow:", err)
		os.Exit(1)
	}
	if packages.PrintErrors(all) > 0 {
		os.Exit(1)
	}
}
