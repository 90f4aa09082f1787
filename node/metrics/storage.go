package metrics

import (
	"p2pnode/node"
	store "p2pnode/storage"
)

func storage() []metric {
	return []metric{
		gauge("storage_size_bytes", "Size of the database.", func(s *node.Stats) float64 { return float64(s.Storage.Size) }),
		gauge("storage_free_bytes", "Bytes of the database that are free for what is written next.", func(s *node.Stats) float64 { return float64(s.Storage.Free) }),
		gauges("storage_disk_free_bytes", "Free space on the disk of the data directory.",
			func(s *node.Stats, add sample) {
				if s.DiskFree >= 0 {
					add(float64(s.DiskFree))
				}
			}),
		durations("storage_write_duration_seconds", "How long it took until a write was on the disk, fsync included: to the database (two of them) or to the ledger's anchor.",
			func(s *node.Stats) map[string]store.Durations {
				return map[string]store.Durations{"database": s.Storage.Database, "anchor": s.Storage.Anchor}
			}),
		counter("storage_page_written_bytes_total", "Bytes of pages that writes to the database filled.", func(s *node.Stats) float64 { return float64(s.Storage.Allocated) }),
		counter("storage_rearrange_seconds_total", "Time that writes took to move keys between pages.", func(s *node.Stats) float64 { return s.Storage.Rearranged.Seconds() }),
		counter("storage_reads_total", "Read transactions.", func(s *node.Stats) float64 { return float64(s.Storage.Reads) }),
		gauge("storage_open_reads", "Read transactions under way. Space that they look at cannot be used again.",
			func(s *node.Stats) float64 { return float64(s.Storage.Readers) }),
		flag("storage_failed", "1 if a write failed: nothing is written or released any more until the daemon starts again.",
			func(s *node.Stats) bool { return s.Storage.Failed }),
	}
}
