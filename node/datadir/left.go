package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"p2pnode/node/api"
	"p2pnode/storage"
)

// The database remembers what kept strangers away from the node, under these keys: a copy
// holds the database alone, and a node that is restored without the other files would
// speak to everybody.
const (
	listedKey = "private network" // its name; "": none
	keyedKey  = "network key"     // its fingerprint; "": none
)

// notePrivate notes in the database what keeps strangers away from the node of a
// directory, and returns what did so before and does no more, in words.
func (s *Store) notePrivate(dir string) (left string, err error) {
	j, err := readJoined(filepath.Join(dir, PrivateFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	key, err := readNetworkKey(filepath.Join(dir, networkKeyFile))
	if err != nil {
		return "", err
	}
	now := map[string]string{listedKey: j.Network}
	if key != nil {
		now[keyedKey] = fingerprint(key)
	}
	for name, value := range now {
		before, err := s.Meta(name)
		if err == nil && value != "" && before != value {
			err = s.PutMeta(name, value)
		}
		if err != nil {
			return "", fmt.Errorf("node: store what keeps strangers away: %w", err)
		}
	}
	_, left, err = missingPrivate(s.Store, dir)
	return left, err
}

// missingPrivate returns the files that kept strangers away from the node of a database and
// that its directory lacks, and what they were in words. It returns none if nothing lacks.
func missingPrivate(s *storage.Store, dir string) (files, what string, err error) {
	network, err := s.Meta(listedKey)
	if err != nil {
		return "", "", err
	}
	key, err := s.Meta(keyedKey)
	if err != nil {
		return "", "", err
	}
	lacks := func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return errors.Is(err, fs.ErrNotExist)
	}
	if lacks(PrivateFile) && network != "" {
		files, what = PrivateFile+" and "+membersFile, "the list of members of the private network "+network
	}
	if lacks(networkKeyFile) && key != "" {
		if files != "" {
			return files + " and " + networkKeyFile, what + " and the network key " + key, nil
		}
		files, what = networkKeyFile, "the network key "+key
	}
	return files, what, nil
}

// refuseOpen returns an error if a node that is restored into a directory would speak to more
// peers than it did.
func refuseOpen(copied *storage.Store, dir string) error {
	files, what, err := missingPrivate(copied, dir)
	if err != nil || files == "" {
		return err
	}
	return api.Advise(fmt.Errorf("%s kept strangers away from this node, and %s lacks %s, without which it would speak to more peers than it did", what, dir, files),
		"put the node's "+files+" there first; to leave the private network, remove them after that")
}

// ForgetPrivate makes the database forget that anything kept strangers away: the owner was
// told that nothing does any more.
func ForgetPrivate(s *storage.Store) error {
	return errors.Join(s.PutMeta(listedKey, ""), s.PutMeta(keyedKey, ""))
}
