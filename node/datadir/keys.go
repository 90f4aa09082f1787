package datadir

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// Key is a key of the configuration. Everything that is known of a key is written at its
// field of [Config], and nowhere else.
type Key struct {
	Name  string
	About string // the comment that explains the key in the file
	// Promised keys are part of what each record is promised for its whole life. Only the
	// configuration's file can set them.
	Promised bool
	// Live: a running node applies a change. For other keys the next start does.
	Live  bool
	field int
}

// Keys lists the keys of the configuration, in the order of its file.
func Keys() []Key {
	of := reflect.TypeFor[Config]()
	keys := make([]Key, of.NumField())
	for i := range keys {
		f := of.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("toml"), ",")
		change := f.Tag.Get("change")
		keys[i] = Key{name, f.Tag.Get("comment"), change == "promised", change == "live", i}
	}
	return keys
}

// keyNamed finds a key by its name.
func keyNamed(name string) (Key, bool) {
	for _, k := range Keys() {
		if k.Name == name {
			return k, true
		}
	}
	return Key{}, false
}

// nearKey returns the key whose spelling is close to a name; "" if there is none.
func nearKey(name string) string {
	for _, k := range Keys() {
		if len(name) <= len(k.Name)+1 && alike(name, k.Name) {
			return k.Name
		}
	}
	return ""
}

// Value returns the key's value in a configuration.
func (k Key) Value(c *Config) any { return reflect.ValueOf(c).Elem().Field(k.field).Interface() }

// Text returns the key's value as [Setting] writes it.
func (k Key) Text(c *Config) string {
	switch v := k.Value(c).(type) {
	case []string:
		return strings.Join(v, ",")
	case []float64:
		parts := make([]string, len(v))
		for i, x := range v {
			parts[i] = strconv.FormatFloat(x, 'g', -1, 64)
		}
		return strings.Join(parts, ",")
	default:
		return fmt.Sprint(v)
	}
}

// same reports whether two configurations agree in the key.
func (k Key) same(a, b *Config) bool { return k.Text(a) == k.Text(b) }

// set gives the key the value in a text. Lists have commas between their values.
func (k Key) set(c *Config, text string) error {
	field := reflect.ValueOf(c).Elem().Field(k.field)
	switch field.Interface().(type) {
	case string:
		field.SetString(text)
	case []string:
		field.Set(reflect.ValueOf(listed(text)))
	case bool:
		v, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("is %q, and must be true or false", text)
		}
		field.SetBool(v)
	case int:
		v, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("is %q, and must be a whole number", text)
		}
		field.SetInt(int64(v))
	case float64:
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fmt.Errorf("is %q, and must be a number", text)
		}
		field.SetFloat(v)
	case []float64:
		return setNumbers(field, text)
	default:
		return fmt.Errorf("can be set in %s only", ConfigFile)
	}
	return nil
}

func setNumbers(field reflect.Value, text string) error {
	var list []float64
	for _, part := range listed(text) {
		v, err := strconv.ParseFloat(part, 64)
		if err != nil {
			return fmt.Errorf("is %q, and must be numbers with commas between them", text)
		}
		list = append(list, v)
	}
	field.Set(reflect.ValueOf(list))
	return nil
}

// Reloaded returns c with the live keys of a configuration that was read later, and all
// keys that differ.
func (c *Config) Reloaded(later Config) (taken Config, changes []KeyChange) {
	taken = *c
	for _, k := range Keys() {
		if k.same(c, &later) {
			continue
		}
		changes = append(changes, k.change(c, &later))
		if k.Live {
			reflect.ValueOf(&taken).Elem().Field(k.field).Set(reflect.ValueOf(later).Field(k.field))
		}
	}
	return taken, changes
}

// KeyChange is a key that was given another value.
type KeyChange struct {
	Key      string `json:"key"`
	Before   string `json:"before"`
	After    string `json:"after"`
	Promised bool   `json:"promised"` // the key is part of what records are promised
	Live     bool   `json:"live"`     // a running node applies the change
}

func (k Key) change(before, after *Config) KeyChange {
	return KeyChange{k.Name, k.Text(before), k.Text(after), k.Promised, k.Live}
}

// listed splits a text at its commas.
func listed(text string) (list []string) {
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	return list
}
