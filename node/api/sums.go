package api

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"p2pnode/learner"
)

// ErrNoSums follows the name of a task that asks for no private sums.
var ErrNoSums = errors.New("has no private sums")

// SumCounts counts the private sums of a task; a recipe in rounds makes one in each.
type SumCounts struct {
	All    int `json:"all"`    // that the recipes make in all epochs
	Known  int `json:"known"`  // whose certified result this node has
	Paid   int `json:"paid"`   // that its records paid a contribution to
	Listed int `json:"listed"` // of the known ones, with that contribution in them
}

// Sums is what a node knows of the private sums of its task.
type Sums struct {
	SumCounts
	Running   bool      `json:"running"` // the node, so that it can tell who is there
	Paused    []Pause   `json:"paused"`  // as in [Status]
	Committee Committee `json:"committee"`
	// OnlyFetches says that each of the task's sums costs more than a whole budget of
	// this node: it contributes to none, and has their results.
	OnlyFetches bool `json:"only_fetches"`
	// List has the sums by recipe, epoch and round: those that are over, and of each
	// recipe the one to come. In a [Status] it has of each recipe only the last and
	// the one to come.
	List []Sum `json:"sums"`
}

// Await reports whether sums wait for this node while it is away: it is a member of the
// committee, and a sum is to come. s may be nil.
func (s *Sums) Await() bool {
	return s != nil && slices.ContainsFunc(s.Committee.Members, func(m Member) bool { return m.Self }) &&
		slices.ContainsFunc(s.List, func(k Sum) bool { return k.State != SumHere && k.State != SumDead })
}

// Waits reports whether a sum of s waits for its committee, as far as this node knows: it
// may open, and no member that answered says that it has.
func (s *Sums) Waits(k *Sum) bool {
	return s.Running && k.State == SumWaiting && k.Part == PartNone && k.Opens == 0 &&
		slices.ContainsFunc(s.Committee.Members, func(m Member) bool { return m.Answered > 0 })
}

// Lacking says who is missing, and why, one member each.
func (s *Sum) Lacking() (list []string) {
	for i, m := range s.Missing {
		if i < len(s.MissingWhy) { // a daemon of another version says less
			m += ", which " + s.MissingWhy[i]
		}
		list = append(list, m)
	}
	return list
}

// Committee is who adds up, and who is believed: fewer than Colluding+1 of them are to
// work together against the others.
type Committee struct {
	Colluding int      `json:"colluding"` // members that may work together
	Quorum    int      `json:"quorum"`    // members that must agree on a sum
	Members   []Member `json:"members"`
}

// Lacks returns how many more members an open sum needs, if so many are missing. It goes on
// without the others.
func (c Committee) Lacks(missing int) int { return max(0, c.Quorum+missing-len(c.Members)) }

// Member is one member of a committee, as this node sees it.
type Member struct {
	Peer string `json:"peer"` // its ID
	Self bool   `json:"self"` // it is this node
	// Answered is when it last answered this node, Unix seconds; 0: not since it started.
	Answered int64  `json:"answered"`
	Failure  string `json:"failure,omitempty"` // why it did not the last time
}

// SumState is how far a sum has come, as far as this node knows.
type SumState string

// The states of a sum.
const (
	SumWaiting SumState = "waiting" // for all members of the committee
	SumOpen    SumState = "open"    // takes contributions
	SumClosed  SumState = "closed"  // takes none any more, and is being added up
	SumHere    SumState = "here"    // its certified result is
	SumDead    SumState = "dead"    // it never has one: the committee erased its keys before
)

// SumPart is what a node has to do with a sum as a contributor.
type SumPart string

// The parts of a contributor.
const (
	PartNone    SumPart = "none"     // it has added nothing
	PartSent    SumPart = "sent"     // it paid, and sends what it adds
	PartListed  SumPart = "listed"   // it is in the sum
	PartLeftOut SumPart = "left out" // it paid and is not in the sum
	PartLost    SumPart = "lost"     // it paid, and was stopped before there was anything to send
)

// Sum is one private sum. What is in it of the result is 0 or empty before that is here.
type Sum struct {
	ID     string   `json:"id"`     // hex
	Recipe string   `json:"recipe"` // the kind
	Epoch  uint64   `json:"epoch"`  // of Epochs, from 1
	Epochs int      `json:"epochs"` // of the task
	Round  uint64   `json:"round"`  // of Rounds, from 1
	Rounds int      `json:"rounds"` // of the recipe, one sum each
	State  SumState `json:"state"`  // "waiting" for all members, "open", "closed", "here", or "dead": it never is
	// Part is what this node has to do with the sum: "none", "sent", "listed" once it is in
	// the sum, or it paid in vain and is "left out" or "lost".
	Part   SumPart `json:"part"`
	Opens  int64   `json:"opens"`  // not before this time, in Unix seconds; 0: as soon as all members are there
	Closes int64   `json:"closes"` // Unix seconds; 0: not known yet
	// Dies is when the sum is dead unless it was added up before, in Unix seconds; 0: not
	// known, or it is over.
	Dies int64 `json:"dies"`
	// Price is the share of a record's budget, by the configuration of this node, that a
	// contribution costs.
	Price   float64 `json:"price"`
	Numbers int     `json:"numbers"`  // that are added up
	Noise   float64 `json:"noise_sd"` // in each of them, once opened
	// Missing lists the members, by peer ID, that do not answer, that say that they have not
	// begun with the sum, or of whom a member knows that their keys or their noise has not
	// come. Without all of them no sum opens. While the sum takes contributions it is empty
	// as long as those who answer are enough to open it.
	Missing    []string `json:"missing"`
	MissingWhy []string `json:"missing_why"` // of each of Missing, such as "does not answer"
	Duty       *Duty    `json:"duty"`        // as a member of the committee; nil: none, or not running

	People  int      `json:"people"`  // contributors
	Records uint64   `json:"records"` // of them
	Digest  string   `json:"digest"`  // what was signed, hex: the same on every node
	Signed  []string `json:"signed"`  // members that signed the result, by peer ID
	Voted   []string `json:"voted"`   // members that certified who is in it
	File    string   `json:"file"`    // with the result
}

// MomentsLeast is how many records a device needs in a sum of the recipe "moments" for it to say
// something of the device.
const MomentsLeast = learner.MomentsLeast

// Stake says what an open or closed sum needs that lacks so many members, and until when; ""
// if it lacks none.
func (s *Sum) Stake(lacks int) string {
	if s.State != SumOpen && s.State != SumClosed || lacks == 0 {
		return ""
	}
	dies := time.Unix(s.Dies, 0)
	at := dies.Format("15:04 (Monday 2 January)")
	if !time.Now().Before(dies) {
		return fmt.Sprintf("had to be added up until %s: unless a member that is missing has its result, it is dead, and what was paid for it is lost", at)
	}
	return fmt.Sprintf("needs %d more of the members until %s; otherwise it is dead, and what was paid for it is lost", lacks, at)
}

// Duty is how far a member of the committee has come in a sum.
type Duty struct {
	Silent bool `json:"silent"` // it takes no part, as its keys for the sum were lost
	Held   int  `json:"held"`   // contributions that are here
	Over   bool `json:"over"`   // its keys for the sum are erased
	// Failure is why it takes no part until it tries again, as that its disk is full; "": it does.
	Failure string `json:"failure,omitempty"`
}

// SumFile is what a result file that was found sound says.
type SumFile struct {
	Sum
	// ListChecked says that the certified list of contributors was beside the file and is
	// sound too. If not, nothing is known of who is in the sum.
	ListChecked bool `json:"list_checked"`
}

// SumsBudget is what private sums take of the budget, and whom the guarantee rests on for
// them.
type SumsBudget struct {
	Share     float64       `json:"share"` // of each record's budget
	Only      bool          `json:"only"`  // nothing else is ever released
	Committee Committee     `json:"committee"`
	Recipes   []RecipePrice `json:"recipes"` // in the order of the task
	Epochs    int           `json:"epochs"`  // a record is in the sums of one
	// Excess is how many times the noise that is needed an opened sum has, as the members
	// that work together might have added none.
	Excess      float64 `json:"noise_times"`
	OnlyFetches bool    `json:"only_fetches"` // as in [Sums]
	Left        int     `json:"sums_left"`    // whose result is not here
}

// RecipePrice is what the sums of a recipe cost a record, all rounds together.
type RecipePrice struct {
	Recipe string  `json:"recipe"` // the kind
	Rounds int     `json:"rounds"` // sums that it makes in an epoch
	Share  float64 `json:"share"`  // by the task
	Price  float64 `json:"price"`  // by the configuration of this node
	// Skipped says that this node never pays it: what the recipes before it leave of a
	// record's budget is less.
	Skipped bool `json:"skipped"`
}

// MemberKeys is what a member of a committee keeps to itself, without the keys.
type MemberKeys struct {
	Peer   string       `json:"peer"`   // what the committee of a task names
	Member bool         `json:"member"` // of the committee of the directory's task
	Sums   []KeysForSum `json:"sums"`
}

// KeysForSum are the keys of a member for one sum.
type KeysForSum struct {
	ID     string `json:"id"`     // the beginning of the sum's name, hex
	Recipe string `json:"recipe"` // "" if the directory has no task, or that has no such sum
	Epoch  uint64 `json:"epoch"`
	Round  uint64 `json:"round"`
	Made   int64  `json:"made"` // Unix seconds; 0: there are none
	Erased bool   `json:"erased"`
	// Silent says that the member takes no part in the sum, as these are new keys and those
	// that it began with were lost. Only a running node knows.
	Silent bool `json:"silent"`
	// Contributions that are kept, of members' noise too.
	Contributions int `json:"contributions"`
}
