// Package sums adds up vectors of many devices so that nobody sees any of them. Such a
// private sum contains the noise that differential privacy needs once, not once for
// each device. The package has the names, encodings and checks of its protocol, the
// sharing, and the state machines of a device, a [Contributor], and of a member of the
// committee, a [Member].
//
// Like an agent of package learner these are pure: values in, values out; one goroutine
// owns each, and a driver calls it. They know no network, no clock and no file. Random
// values (keys, seeds and what seals them) are drawn from the operating system by
// functions that a driver calls, and come in as inputs; so a [Member] can be replayed
// from its journal.
//
// # What is guaranteed
//
// A task names a [Committee] of S members and how many of them, t, may collude, with S
// >= 3t+1. Let each contributor's vector move by at most [Terms.Distance] when one of
// its records is replaced. If at most t members collude, with any number of
// contributors, leaders and relays, then everything they see is as private for each
// record as one release of [Sum.Mechanism] by the record's own device. This relies on
// the pseudo-randomness of AES-256, HKDF and HPKE. If t+1 members collude before they
// erase their keys, they read every contribution exactly; afterwards a compromise of
// all of them yields the sum and no more. Nobody guarantees that the sum is right: a
// contributor may say anything, a member may add any noise, and a leader may leave
// people out.
//
// # The protocol
//
//  1. Each member makes [Secrets] for this sum, asks all others what they hold of it,
//     and pledges its keys. It draws its part of the noise and shares it as contributors
//     share vectors. A quorum that holds all noise certifies the [Opening].
//  2. A contributor checks the opening before it pays, masks its vector ([Sum.Contribute])
//     and sends those bytes for ever. Members hold it if the seeds sealed to them fit its
//     check values, or if a peer has those that do.
//  3. When the sum closes, the members vote on one [List] by views, with locks: [voter].
//     A member votes for a list if it holds all of it.
//  4. With a quorum's commits, members work out the sum of each class's streams over the
//     list and the noise, and tell those who lack the class; t+1 equal ones decide.
//  5. The [Result] is the sum of the masked vectors and of those. t+1 members sign it.
//  6. Keys and seeds are erased.
//
// Two openings with the same noise and with lists that differ by one device show that
// device's vector. The votes prevent this. For the same reason a member stores durably
// what it signs before anybody hears it, and a member that has lost its keys, or hears
// of a signature of its own that it does not know, is silent for the rest of the sum.
//
// # Choices
//
//   - A member draws its noise after it has the keys of all, and the hash of its masked
//     noise is its commitment: noise that is chosen after seeing others' masked noise is
//     chosen after seeing uniform words.
//   - The closing time is the median of what the members pledge, so it lies between two
//     honest ones' times without a vote.
//   - An accept is a hint between members, many in one signature. It needs no proof in a
//     list: a list is opened only if a quorum prepared it, and an honest member prepares
//     what it holds. A leader that lists what nobody holds loses its view.
//   - A member asks for missing seeds only once t+1 others hold them, so that garbage
//     costs the others nothing. A member gives those seeds that both ends hold by
//     right.
//   - A class's sum goes only to the members that lack the class. The others work it out.
//   - A member asks what others hold of it. Before it pledges it needs the answer of all,
//     which costs nothing: without all of them there is no opening either. When it comes
//     back from its journal it needs those of a quorum, itself included, so that t may be
//     away; they show it what it signed last. That finds a directory that was put back by
//     mistake. One that is put back with intent is one of the t.
//   - The leader decides, within what a quorum holds, who is in the list. Refusing a
//     list that lacks somebody would let one liar, who accepts towards some only, stop
//     the sum.
package sums
