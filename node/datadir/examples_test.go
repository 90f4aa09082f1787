package datadir

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// Each task in docs/tasks, an example of each learner among them, is one that a node can
// be made for, and its TOML form and the name of its network keep all of it.
func TestExampleTasks(t *testing.T) {
	names := make(map[string]string)
	files := map[string]string{
		"personal": "personal", "personal-similar": "personal", "activity": "personal",
		"propagation": "propagation", "diffusion": "diffusion", "km": "km", "polar": "polar", "sums": "sums",
	}
	for file, learner := range files {
		t.Run(file, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("..", "..", "docs", "tasks", file+".toml"))
			if err != nil {
				t.Fatal(err)
			}
			task, err := ParseTask(text)
			if err != nil {
				t.Fatal(err)
			}
			if task.Learner != learner {
				t.Errorf("the learner is %q", task.Learner)
			}
			formatted, err := FormatTask(task)
			if err != nil {
				t.Fatal(err)
			}
			again, err := ParseTask(formatted)
			if err != nil || !reflect.DeepEqual(again, task) || NetworkName(again) != NetworkName(task) {
				t.Errorf("read back as %+v, %v\nfrom\n%s", again, err, formatted)
			}
			names[NetworkName(task)] = file
			c := DefaultConfig(task)
			if task.Obfuscated() {
				c.Unprotected = Consent
			}
			if err := Init(filepath.Join(t.TempDir(), "node"), task, c); err != nil {
				t.Error(err)
			}
		})
	}
	if len(names) != len(files) {
		t.Errorf("%d tasks make %d networks", len(files), len(names))
	}
}

// Every constant of a learner is something the nodes must agree on.
func TestNetworkNameCoversTheLearners(t *testing.T) {
	for _, name := range []string{"propagation", "diffusion", "km"} {
		task := lineTask()
		task.Learner = name
		for _, table := range []any{&task.Propagation, &task.Rounds, &task.Diffusion, &task.KM, &task.Polar} {
			v := reflect.ValueOf(table).Elem()
			for i := range v.NumField() {
				before, kept := NetworkName(task), reflect.ValueOf(v.Field(i).Interface())
				switch f := v.Field(i); f.Kind() {
				case reflect.Float64:
					f.SetFloat(f.Float() + 1)
				case reflect.Int:
					f.SetInt(f.Int() + 1)
				case reflect.String:
					f.SetString(f.String() + "x")
				case reflect.Bool:
					f.SetBool(!f.Bool())
				case reflect.Slice:
					f.Set(reflect.ValueOf([]string{"x"}))
				default:
					t.Fatalf("a constant of kind %v", f.Kind())
				}
				if NetworkName(task) == before {
					t.Errorf("%s: %s.%s is not in the network's name", name, v.Type().Name(), v.Type().Field(i).Name)
				}
				v.Field(i).Set(kept)
			}
		}
	}
}
