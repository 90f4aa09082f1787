//go:build !android

package mobile_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"p2pnode/internal/require"
	"p2pnode/mobile/internal/bindings"
)

// TestObjC lets clang parse the Objective-C bindings, an app's use of them, and
// uses that must not pass, so that the first test can fail. It is as near to Xcode
// as Linux gets: GNUstep's Foundation in place of Apple's, nothing linked, nothing run,
// and no automatic reference counting, which GNUstep's headers do not know here.
func TestObjC(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it runs compilers")
	}
	c := newObjC(t)
	c.accepts(t, "P2PMobile_darwin.m")
	c.accepts(t, "Universe_darwin.m")
	c.accepts(t, c.write(t, "use.m", objcUse))
	for name, body := range map[string]string{
		"method":   `[n nonsense];`,
		"label":    `double y; [n predict:x value:&y error:&e];`,
		"argument": `[n setPower:@"full" charging:YES saver:NO error:&e];`,
		"result":   `double y; y = [n statusJSON:&e];`,
		"property": `P2PMobileNewConfig(@"d", @"t").dataDirectory = @"e";`,
		"class":    `n = P2PMobileNewConfig(@"d", @"t");`,
		"function": `P2PMobileNewPeer(@"d");`,
		"count":    `P2PMobileSetMemoryLimit(&e);`,
		"constant": `e = P2PMobileCodeNothing;`,
	} {
		t.Run(name, func(t *testing.T) {
			source := `#import "P2PMobile.objc.h"` +
				"\nvoid misuse(P2PMobileNode *n, NSData *x) { NSError *e = nil; " + body + " }\n"
			if out, err := c.parse(c.write(t, name+".m", source)); err == nil {
				t.Errorf("clang accepts %s\n%s", body, out)
			} else if !strings.Contains(string(out), name+".m:2:") {
				t.Errorf("clang rejects something else than %s\n%s", body, out)
			}
		})
	}
}

// objcUse is what an app does, Swift's part of the bindings in plain Objective-C.
const objcUse = `#import "P2PMobile.objc.h"
@interface Ear : NSObject <P2PMobileListener>
@end
@implementation Ear
- (BOOL)onEvent:(NSString *)kind payloadJSON:(NSString *)payload error:(NSError **)error { return YES; }
- (BOOL)onLog:(long)level message:(NSString *)message error:(NSError **)error { return YES; }
@end
double use(NSString *directory, NSString *task, NSData *features) {
	NSError *error = nil;
	P2PMobileConfig *config = P2PMobileNewConfig(directory, task);
	config.allowMetered = NO;
	config.minBatteryPercent = 30;
	P2PMobileNode *node = P2PMobileNewNode(config, [[Ear alloc] init], &error);
	if (node == nil && [P2PMobileErrorCode(error.localizedDescription) isEqualToString:P2PMobileCodeBusy]) return 0;
	[node setNetwork:P2PMobileNetUnmetered interfacesJSON:@"[]" dnsServersJSON:@"" error:&error];
	[node addExample:features label:1 error:&error];
	double y = 0;
	[node predict:features y:&y error:&error];
	NSString *done = [node train:25000 error:&error];
	NSData *parameters = [node exportModel:&error];
	return [node stop:&error] && done.length > 0 && parameters.length > 0 ? y : 0;
}
`

// objC is a directory with the generated Objective-C, and what clang needs to parse it.
type objC struct {
	dir   string
	flags []string
}

func newObjC(t *testing.T) *objC {
	c := &objC{dir: t.TempDir()}
	c.flags = append(gnustep(t), "-x", "objective-c", "-fno-objc-arc", "-fblocks", "-fobjc-runtime=gnustep-1.8",
		"-D__GOBIND_DARWIN__", "-I"+c.dir, "-isystem", c.dir+"/stubs")
	c.write(t, "stubs/objc/blocks_runtime.h", "void *_Block_copy(const void *);\nvoid _Block_release(const void *);\n")
	files, err := bindings.Mobile()
	require.NoError(t, err)
	generated, err := fs.Glob(files, "src/gobind/*")
	require.NoError(t, err)
	var sources []string
	for _, name := range generated {
		if strings.Contains(name, "_android.") {
			continue
		}
		text, err := fs.ReadFile(files, name)
		require.NoError(t, err)
		// Modules and frameworks are Apple's.
		lines := strings.ReplaceAll(string(text), "@import Foundation;", "#import <Foundation/Foundation.h>")
		lines = strings.ReplaceAll(lines, "#cgo ", "// no cgo ")
		c.write(t, path.Base(name), lines)
		if path.Ext(name) == ".go" {
			sources = append(sources, path.Base(name))
		}
	}
	// The header of the functions that Go exports to the generated Objective-C.
	export := exec.CommandContext(t.Context(), "go", "tool", "cgo", "-objdir", c.dir, "--")
	export.Args = append(append(export.Args, c.flags...), sources...)
	export.Dir = c.dir
	export.Env = append(os.Environ(), "CC=clang", "GOFLAGS=")
	run(t, export)
	return c
}

// gnustep returns the flags that make clang find a Foundation.
func gnustep(t *testing.T) []string {
	if _, err := exec.LookPath("clang"); err != nil {
		t.Skip("no clang: to check the Objective-C bindings, install clang, libgnustep-base-dev and an Objective-C runtime of gcc")
	}
	const foundation = "/usr/include/GNUstep"
	runtimes, _ := filepath.Glob("/usr/lib/gcc/*/*/include/objc/runtime.h")
	if _, err := os.Stat(foundation + "/Foundation/Foundation.h"); err != nil || len(runtimes) == 0 {
		t.Skip("no GNUstep: to check the Objective-C bindings, install libgnustep-base-dev and an Objective-C runtime of gcc")
	}
	objc := filepath.Dir(filepath.Dir(runtimes[len(runtimes)-1]))
	return []string{"-isystem", foundation, "-isystem", objc}
}

func (c *objC) write(t *testing.T, name, text string) string {
	path := filepath.Join(c.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
	return name
}

func (c *objC) accepts(t *testing.T, name string) {
	if out, err := c.parse(name); err != nil {
		t.Errorf("clang does not accept %s: %v\n%s", name, err, out)
	}
}

// parse leaves out warnings of what automatic reference counting would settle, and of
// GNUstep's nil, which is no pointer to a pointer.
func (c *objC) parse(name string) ([]byte, error) {
	flags := append(c.flags, "-fsyntax-only", "-Wall", "-Werror",
		"-Wno-objc-property-no-attribute", "-Wno-compare-distinct-pointer-types")
	clang := exec.Command("clang", append(flags, name)...)
	clang.Dir = c.dir
	return clang.CombinedOutput()
}

func run(t *testing.T, c *exec.Cmd) {
	t.Helper()
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(c.Args, " "), err, out)
	}
}
