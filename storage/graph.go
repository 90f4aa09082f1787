package storage

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"go.etcd.io/bbolt"
)

// Edge is an accepted link of the similarity graph. Its weight is frozen until
// either end asks again.
type Edge struct {
	Peer   string   `json:"peer"`
	Weight float64  `json:"weight"` // W_ij > 0
	Addrs  []string `json:"addrs"`  // where to dial the peer
	// Known says that the weight follows from what both ends had made public.
	Known   bool  `json:"known,omitempty"`
	Invited bool  `json:"invited,omitempty"` // the other end asked for it first
	Since   int64 `json:"since,omitempty"`   // Unix seconds; 0: not noted by earlier versions
}

// SaveEdges forgets the edges to the peers in gone and stores edges, each in place of an
// earlier one to the same peer, in one transaction. It is no error if there is no edge to
// forget.
func (s *Store) SaveEdges(gone []string, edges ...Edge) error {
	err := s.update(func(tx *bbolt.Tx) error {
		b := tx.Bucket(bucketEdges)
		for _, peer := range gone {
			if err := b.Delete([]byte(peer)); err != nil {
				return err
			}
		}
		for _, e := range edges {
			if err := putJSON(b, e.Peer, e); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("storage: save the neighbours: %w", err)
	}
	return nil
}

// Edges returns all edges, sorted by peer.
func (s *Store) Edges() ([]Edge, error) { return readJSON[Edge](s, bucketEdges, "the neighbours") }

// Peer is a known node, to dial again after a restart.
type Peer struct {
	ID       string   `json:"id"`
	Addrs    []string `json:"addrs"`
	LastSeen int64    `json:"last_seen"` // Unix seconds; 0: never
	// FirstSeen is since when it has been remembered, in Unix seconds; 0: not noted.
	FirstSeen int64 `json:"first_seen,omitempty"`
	// Added says that the owner added it. It is kept until she removes it.
	Added bool `json:"added,omitempty"`
	// Failures counts the dials in a row that this peer did not answer while others did.
	Failures int `json:"failures,omitempty"`
}

// SavePeers stores the given peers, and forgets all others.
func (s *Store) SavePeers(peers ...Peer) error {
	err := s.update(func(tx *bbolt.Tx) error {
		b := tx.Bucket(bucketPeers)
		keep := make(map[string]bool, len(peers))
		for _, p := range peers {
			keep[p.ID] = true
			if err := putJSON(b, p.ID, p); err != nil {
				return err
			}
		}
		var gone [][]byte
		_ = b.ForEach(func(id, _ []byte) error {
			if !keep[string(id)] {
				gone = append(gone, id)
			}
			return nil
		})
		for _, id := range gone {
			if err := b.Delete(id); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("storage: save the peers: %w", err)
	}
	return nil
}

// Peers returns the known peers, the most recently seen first.
func (s *Store) Peers() ([]Peer, error) {
	peers, err := readJSON[Peer](s, bucketPeers, "the peers")
	slices.SortFunc(peers, newestFirst)
	return peers, err
}

func newestFirst(a, b Peer) int {
	return cmp.Or(cmp.Compare(b.LastSeen, a.LastSeen), cmp.Compare(a.ID, b.ID))
}

func putJSON(b *bbolt.Bucket, id string, v any) error {
	if id == "" {
		return errors.New("a peer has no ID")
	}
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return put(b, []byte(id), data)
}

// readJSON returns every value of a bucket in the order of keys. what names them in errors.
func readJSON[T any](s *Store, bucket []byte, what string) (all []T, err error) {
	err = s.view(func(tx *bbolt.Tx) (err error) {
		all, err = allJSON[T](tx.Bucket(bucket))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("storage: read %s: %w", what, err)
	}
	return all, nil
}

// allJSON decodes every value of a bucket in the order of keys.
func allJSON[T any](b *bbolt.Bucket) (all []T, err error) {
	err = b.ForEach(func(key, sealed []byte) error {
		data, err := unseal(key, sealed)
		if err != nil {
			return err
		}
		var v T
		if err := json.Unmarshal(data, &v); err != nil {
			return fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		all = append(all, v)
		return nil
	})
	return all, err
}
