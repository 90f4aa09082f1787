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
// release. [Ledger.CommitPublic] stores it and uses its round, for which nobody
// pays and of which the chain holds no entry.
//
// # Private sums
//
// [Ledger.Contribute] is the other exit: masked bytes leave, once for a sum. It writes
// what the sum costs as a release does, only then has the shares drawn, and commits the
// bytes that may be sent before anybody has them. They are the same for ever. A sum that
// was debited and has no bytes is burned. Seeds and vectors are never on disk: nothing
// here says what a contribution holds. A cohort contributes to the sums of one epoch, and
// takes no records after that.
//
// A failed write of anything leaves it open what is on disk, and bbolt may go on
// from bytes that only memory holds. The store then refuses every later write
// ([ErrPoisoned]) until the file is opened and verified afresh. A disk that
// failed to write once and then loses power may come back as [ErrDamaged] or
// [ErrRolledBack], never with less spent.
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
// A file of any length is stored all or not at all, in batches ([Import]). Their
// records lie behind a mark, and nobody sees them; the last batch removes the mark
// and adds the file's digest, in one transaction. [Open] removes what is behind a
// mark, so after a crash the file can be imported as if for the first time.
//
// # Restoring
//
// [Store.Backup] copies a running node's database, and [Restore] puts a copy in
// place. What was released after the copy was made is not in it, so every cohort
// is retired ([Ledger.Retire]): its records stay, for the personal model, and pay
// for nothing any more, private sums neither. Rounds go on above those that peers
// have heard, or that the old anchor knows of. Later records open a new cohort with
// a budget of its own.
//
// Contributions in the copy are sent again byte for byte. Of later ones it knows
// nothing, so the list of a sum tells that another copy runs only if the sum is of a
// later epoch than the first one that was paid for since ([Ledger.ContradictSum]).
//
// # What is not detected
//
// An older copy of both files together looks genuine from here: only peers, who
// remember the rounds they have heard, can contradict it. Records that are
// stored a second time get a second budget: only a whole file that is the same byte
// for byte is told ([Store.Imported]), unless a restore put back a time before it.
// CRCs find accidents, not forgers: whoever can write these files can spend the
// budget.
//
// [Store.DeleteRecords] overwrites a record's bytes in the file. It does not
// reach backups, replaced databases that a restore kept, or what the file
// system and the disk keep of overwritten blocks.
package storage
