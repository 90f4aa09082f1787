package page

import (
	"errors"
	"io"
	"os"
)

// WriteFile makes name a file with what write writes. If that fails, as on a full disk, what was
// there before stays.
func WriteFile(name string, write func(io.Writer) error) error {
	f, err := os.Create(name + ".new")
	if err != nil {
		return err
	}
	if err = errors.Join(write(f), f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
