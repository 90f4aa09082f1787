package testnet

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Export writes the records of each person to a file in dir, which it makes: 1.csv,
// 2.csv, ... in the order of the people. A file has a header and the task's columns,
// with records in arrival order, so a daemon that imports it holds out the same
// records. If one of the files holds something else already, none is written.
func (d *Dataset) Export(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("testnet: export: %w", err)
	}
	for _, do := range []func(file string, p *Person) error{d.free, d.exportPerson} {
		for i := range d.People {
			file := filepath.Join(dir, fmt.Sprintf("%d.csv", i+1))
			if err := do(file, &d.People[i]); err != nil {
				return fmt.Errorf("testnet: export: %w", err)
			}
		}
	}
	return nil
}

// free returns an error if a file holds something else than the person's records.
func (d *Dataset) free(file string, p *Person) error {
	there, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var own bytes.Buffer
	if err := d.writeRecords(&own, p); err != nil {
		return err
	}
	if !bytes.Equal(there, own.Bytes()) {
		return fmt.Errorf("%s is there already and holds something else: choose another directory, or remove it; nothing was written", file)
	}
	return nil
}

func (d *Dataset) exportPerson(file string, p *Person) (err error) {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
	}()
	return d.writeRecords(f, p)
}

// writeRecords writes a person's records as CSV.
func (d *Dataset) writeRecords(w io.Writer, p *Person) error {
	out := csv.NewWriter(w)
	if err := out.Write(d.Columns); err != nil {
		return err
	}
	return out.WriteAll(p.rows) // WriteAll flushes
}
