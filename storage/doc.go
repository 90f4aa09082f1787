// Package storage keeps everything a node must not forget: its records, the
// privacy ledger, the agent's committed state and outgoing message, edges and
// known peers. All of it lives in one bbolt file, which one process holds at a
// time, and in a small anchor file beside it.
//
// # The door's durable half
//
// A release takes two transactions. [Ledger.Release] writes what it costs, waits
// until that is on disk, in the database and then in the anchor, and only then
// draws the noise. [Ledger.Commit] stores the bytes that will be published. The
// process may die at any instruction:
//
//   - before the debit is on disk nothing was drawn and nothing is charged;
//   - between the two the round is burned: it is charged, it published nothing,
//     and its number is never used again;
//   - after Commit the stored bytes are published again, byte for byte.
//
// A message that is a public function of what was published before carries no
// release. [Ledger.CommitPublic] stores it and uses its round. No cohort pays for
// the round, and the chain gets no entry.
//
// # Private sums
//
// [Ledger.Contribute] is the other exit: masked bytes leave, once for each sum. It writes
// what the sum costs, as a release does. Only then are the shares drawn, and the bytes
// that may be sent are committed before anybody gets them. They never change. A sum that
// was debited and has no bytes is burned. Seeds and vectors are never on disk: nothing
// here says what a contribution holds. A cohort contributes to the sums of one epoch, and
// takes no records after that.
//
// After a failed write nobody knows what is on disk, and bbolt may go on from bytes
// that only memory holds. The store then refuses every later write ([ErrPoisoned])
// until the file is opened and verified again. A disk that failed to write once and
// then loses power may come back as [ErrDamaged] or [ErrRolledBack], but never with
// less spent.
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
// behind, never ahead. [Ledger.Verify] checks both again while the node runs.
//
// # Imports
//
// A file of any length is stored completely or not at all, in batches ([Import]). The
// records of unfinished batches lie behind a mark, where no reader sees them. The last
// batch removes the mark and adds the file's digest, in one transaction. [Open] removes
// the records behind a mark, so after a crash the file can be imported as if for the
// first time.
//
// # Restoring
//
// [Store.Backup] copies a running node's database, and [Restore] puts a copy in
// place. The copy does not know what was released after it was made, so every cohort
// is retired ([Ledger.Retire]): its records stay for the personal model and never pay
// again, not for private sums either. Rounds go on above those that peers have heard or
// that the old anchor knows of. Later records open a new cohort with a budget of its
// own.
//
// Contributions in the copy are sent again byte for byte. The copy does not know later
// ones, so the list of a sum shows that another copy runs only if the sum is of a
// later epoch than the first one that was paid for since ([Ledger.ContradictSum]).
//
// # What is not detected
//
// An older copy of both files together looks genuine to the node. Only peers, which
// remember the rounds they have heard, can contradict it. Records that are stored a
// second time get a second budget. Only a whole file that is the same byte for byte is
// recognised ([Store.Imported]), unless a restore put back a time before it. CRCs find
// accidents, not forgers: anybody who can write these files can spend the budget.
//
// [Store.DeleteRecords] overwrites a record's bytes in the file. It does not
// reach backups, replaced databases that a restore kept, or what the file
// system and the disk keep of overwritten blocks.
package storage
