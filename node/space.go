package node

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"p2pnode/internal/durable"
	"p2pnode/node/api"
	"p2pnode/node/datadir"
)

// reserve is how many bytes of the disk stay free when records are stored. A node needs
// them for what it pays for and publishes: after a write has failed it must stop.
const reserve = 32 << 20

// spaceEvery is how many records are stored between two checks of the disk.
const spaceEvery = 1024

// space returns an error if no more records may be stored, because the database has
// reached its limit or the disk is nearly full.
func (n *Node) space() error {
	if most := int64(n.live.Load().MaxMegabytes) << 20; most > 0 {
		used, err := n.store.Used()
		if err != nil {
			return fmt.Errorf("node: %w", err)
		}
		if used >= most {
			return api.Advise(fmt.Errorf("%w for more records: the database takes %d MB, and the key \"max_megabytes\" allows no more", api.ErrFull, used>>20),
				"raise it, or delete records and make what is left smaller with: p2pnode compact")
		}
	}
	free := durable.Free(n.dir)
	if free < 0 || free >= reserve {
		return nil
	}
	return api.Advise(
		fmt.Errorf("%w for more records: the disk is nearly full, %d MB are free, and %d MB stay free for what the node pays and publishes (%w)", api.ErrFull, free>>20, reserve>>20, syscall.ENOSPC),
		"free some, then try again")
}

// roomForCopy returns an error if the disk has no room for a copy of the database.
func (n *Node) roomForCopy() error {
	info, err := os.Stat(filepath.Join(n.dir, datadir.StoreFile))
	if err != nil {
		return fmt.Errorf("node: %w", err)
	}
	if free := durable.Free(n.dir); free >= 0 && free < info.Size()+reserve {
		return api.Advise(fmt.Errorf("%w for a copy of the database: it takes %s beside the %d MB that stay free for what the node pays and publishes, and %s of the disk are free (%w)",
			api.ErrFull, megabytes(info.Size()), reserve>>20, megabytes(free), syscall.ENOSPC),
			"free some, or stop the node and copy the file "+datadir.StoreFile)
	}
	return nil
}

// megabytes writes a number of bytes, one below a megabyte in kilobytes.
func megabytes(n int64) string {
	if n < 1<<20 {
		return fmt.Sprintf("%d kB", n>>10)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
}
