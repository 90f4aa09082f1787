// Package storage keeps everything a node must not forget: its records, the
// privacy ledger, the agent's committed state and outgoing message, edges and
// known peers. All of it lives in one bbolt file, which one process holds at a
// time, and in a small anchor file beside it.
//
// # The door's durable half
//
// A release takes two transactions. [Ledger.Pay] writes what the release costs
// and returns when that is on disk; only then may noise be drawn.
// [Ledger.Commit] then stores the bytes that will be published. The process may
// die at any instruction:
//
//   - before Pay's commit nothing was drawn and nothing is charged;
//   - between Pay and Commit the round is burned: it is charged, it published
//     nothing, and its number is never used again;
//   - after Commit the stored bytes are published again, byte for byte.
//
// A failed write leaves it open what is on disk. The ledger then refuses every
// later write ([ErrPoisoned]) until the file is opened and verified afresh.
//
// # What is detected
//
// Every stored value carries a CRC-32C, and [Open] checks each page of the file
// before bbolt follows it, because bbolt trusts its pages: a changed bit is an
// error ([ErrDamaged]) or lies in space that nothing uses. Ledger entries are
// numbered without gaps and each one's CRC covers the one before, so an entry
// cannot change, vanish or move unnoticed. The head of that chain is also kept
// in the anchor file, so that an older copy of the database alone is noticed
// ([ErrRolledBack]); the anchor follows each payment, so after a crash it may be
// behind, never ahead. An older copy of both files together looks genuine from
// here: only peers, who remember the rounds they have heard, can contradict it.
//
// CRCs find accidents, not forgers: whoever can write these files can spend the
// budget. A deleted record's bytes may stay in free pages of the file until
// bbolt uses them again.
package storage
