package api

import (
	"time"

	"p2pnode/privacy"
)

// StatementFormat is the form of [Statement]. Another form is another number.
const StatementFormat = 1

// Statement is what a node guarantees, for somebody who is not its owner. It says nothing
// that is not public: neither how many records there are, nor what they say, nor what
// they brought.
type Statement struct {
	Format  int       `json:"format"` // 1
	Node    string    `json:"node"`   // peer ID, whose key signs
	Time    time.Time `json:"time"`
	Program string    `json:"program"` // the version of p2pnode
	Task    struct {
		Name    string `json:"name"`
		Network string `json:"network"` // the hash of what all nodes of the task agree on, hex
		Learner string `json:"learner"`
	} `json:"task"`
	Guarantee  *Guarantee `json:"guarantee"`            // nil: there is none
	Bare       int        `json:"unprotected_releases"` // sent without a guarantee so far
	Audiences  []Audience `json:"audiences"`
	Spent      []Paid     `json:"spent"`       // by cohort
	ShareOf    string     `json:"share_of"`    // as in [Budget]
	Ledger     LedgerHead `json:"ledger"`      // its last entry
	RestsOn    []string   `json:"rests_on"`    // what has to be true for it to hold, in words
	NotCovered []string   `json:"not_covered"` // what others can see or learn all the same, in words
	Page       string     `json:"page_sha256"` // of what people read above the statement, hex
}

// Guarantee is what holds for each record over its whole life.
type Guarantee struct {
	Epsilon    float64            `json:"epsilon"`                     // of each record, over its whole life
	Delta      float64            `json:"delta"`                       // of the same guarantee
	Excess     float64            `json:"chance_of_more_than_epsilon"` // as in [Budget]
	Unit       string             `json:"unit"`                        // what may differ in a record's place, in words
	Noise      string             `json:"noise"`                       // the kind
	Accounting privacy.Accounting `json:"accounting"`                  // how losses add up
	Batch      int                `json:"batch"`                       // as in [Budget]
	Person     []PersonBudget     `json:"person"`                      // for one record, then for somebody with several
}

// Audience is who gets something of what a node sends. The guarantee holds against each of
// them, and against all of them together as far as Colluding says.
type Audience struct {
	Who   string   `json:"who"`   // in words
	Peers []string `json:"peers"` // who that is; empty: anyone
	Gets  string   `json:"gets"`  // in words
	Way   string   `json:"way"`   // by which it gets there, in words
	// Epsilon and Delta are what one of Peers can learn, and what anyone can. They are nil
	// without a guarantee.
	Epsilon *float64 `json:"epsilon"`
	Delta   *float64 `json:"delta"`
	// Colluding is how many of Peers may work together; 0: all of them.
	Colluding int `json:"colluding"`
}

// Paid is what the records of one cohort have paid; it says not how many they are.
type Paid struct {
	Cohort   privacy.Cohort `json:"cohort"`
	Releases int            `json:"releases"`             // that it took part in
	Sums     int            `json:"sums"`                 // private sums that it has contributed to
	Spent    float64        `json:"spent_share"`          // as in [CohortBudget]
	AtLeast  float64        `json:"spent_share_at_least"` // as in [CohortBudget]
	Retired  bool           `json:"retired"`              // by a restore: it pays for nothing any more
}

// LedgerHead is the last entry of a ledger, so that an exported one can be compared.
type LedgerHead struct {
	Entries uint64 `json:"entries"` // how many there are
	CRC     string `json:"crc"`     // as in [Line]; "" without entries
}

// SignedStatement is a statement with the signature of the node's key.
type SignedStatement struct {
	Statement
	Signature []byte `json:"signature"` // of the statement, by the key of Node
}

// StatementCheck is what a signed statement says of itself.
type StatementCheck struct {
	Statement Statement `json:"statement"`
	Sound     bool      `json:"sound"`
	Faults    []string  `json:"faults"` // why it is not
	Doubts    []string  `json:"doubts"` // what a reader should know
}
