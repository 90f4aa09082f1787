package api

import (
	"slices"

	"p2pnode/privacy"
	"p2pnode/storage"
)

// Budget is the ledger in the operator's terms. Shares are of a cohort's budget,
// in [0, 1].
type Budget struct {
	Epsilon float64 `json:"epsilon"` // of each record, over its whole life
	Delta   float64 `json:"delta"`   // of the same guarantee
	// Excess is how probable it is that more than epsilon is told about a record over
	// its whole life, or a bound on that; see [privacy.Policy.Excess]. Delta counts each
	// such case by how much more, and is smaller. 1 without a guarantee.
	Excess float64 `json:"chance_of_more_than_epsilon"`
	// Unbounded says that something was or will be released without a guarantee, and
	// Unprotected that the configuration says so now.
	Unbounded   bool `json:"unbounded"`
	Unprotected bool `json:"unprotected"`
	// Obfuscation: the learner hides gradients without a guarantee, which is
	// obfuscation and not differential privacy.
	Obfuscation bool `json:"obfuscation"`
	// Contradicted is the round of this node that a peer showed and the directory
	// knows nothing of: it is an old copy, and releases nothing. 0: none did.
	Contradicted uint64 `json:"contradicted_round"`
	// ForeignSum says that a committee showed that, by a contribution to a private sum.
	// Contradicted is then a round that no peer has shown.
	ForeignSum bool `json:"contradicted_by_sum"`
	// Stranded says that the node takes part no more: its learner works in rounds, and
	// a restore has put it beyond the last round.
	Stranded   bool   `json:"stranded"`
	Bare       int    `json:"unprotected_releases"` // released without a guarantee so far
	Noise      string `json:"noise"`                // the kind: the key "noise" of the configuration
	Accounting string `json:"accounting"`           // how losses add up: "gdp", "pure", "renyi" or "plan"
	Pace       string `json:"pace"`                 // how the budget is divided among releases: the key "pace"
	Batch      int    `json:"batch"`                // of every 100 records, how many take part in a release; 0: all
	Releases   int    `json:"releases"`             // that the budget is made for; 0: none, or any number without protection
	// Left is how many more rounds the node can release with the records it has,
	// Next the share of a cohort's budget that the next of them costs, and Rising
	// says that the one after costs more.
	Left int     `json:"releases_left"`
	Next float64 `json:"next_release_share"`
	// Missing is how many more records must come before the next release, because those
	// that have a budget left are too few; 0: none, or none would help.
	Missing int  `json:"records_missing"`
	Rising  bool `json:"later_releases_cost_more"`
	// ShareOf is what all shares are of: "budget", or "steps" of a plan, whose
	// budget is known for the whole of it only.
	ShareOf string `json:"share_of"`
	// Plan is how far a committed plan has come; nil without one.
	Plan    *PlanBudget    `json:"plan"`
	Cohorts []CohortBudget `json:"cohorts"` // the newest last
	Sums    *SumsBudget    `json:"sums"`    // nil: the task has no private sums
	Person  []PersonBudget `json:"person"`  // for one record, then for somebody with several

	// Listeners are the neighbours that listened to releases, sorted by peer: the last
	// thousand.
	Listeners []Listener `json:"listeners"`

	VisibleTo  string   `json:"visible_to"`  // who can see what was released
	NotCovered []string `json:"not_covered"` // what others can see or learn all the same
}

// Listener is a neighbour that listened to releases of the node. It may have passed them on.
type Listener struct {
	Peer     string `json:"peer"`
	First    int64  `json:"first"`    // Unix seconds
	Last     int64  `json:"last"`     // Unix seconds
	Releases int    `json:"releases"` // that it listened to
}

// Waits reports whether there are records that have a budget left and wait for more.
func (b Budget) Waits() bool {
	return b.Missing > 0 && slices.ContainsFunc(b.Cohorts, func(c CohortBudget) bool { return c.Left > 0 })
}

// Waits is [Budget.Waits].
func (b BudgetSummary) Waits() bool { return b.Missing > 0 && b.Left > 0 }

// PlanBudget counts the steps of a plan.
type PlanBudget struct {
	Steps int `json:"steps"` // of the whole plan
	Done  int `json:"steps_done"`
	Left  int `json:"steps_left"`
}

// CohortBudget is what one group of records has paid.
type CohortBudget struct {
	Cohort   privacy.Cohort `json:"cohort"`        // its number
	Records  int            `json:"records"`       // training slots, those of deleted records too
	Releases int            `json:"releases"`      // that it took part in
	Left     int            `json:"releases_left"` // that it can still take part in
	Sums     int            `json:"sums"`          // private sums that it has contributed to
	// Spent is what counts: all of it once retired, because what was released after
	// the copy was made is not known. AtLeast is what the ledger knows of.
	Spent   float64 `json:"spent_share"`
	AtLeast float64 `json:"spent_share_at_least"`
	Next    float64 `json:"next_release_share"` // what the next one costs
	Retired bool    `json:"retired"`            // by a restore: it pays for nothing any more
}

// PersonBudget is the guarantee for a person who owns that many records.
type PersonBudget struct {
	Records int     `json:"records"` // of that person
	Epsilon float64 `json:"epsilon"`
	Delta   float64 `json:"delta"`
	// Belief is what an even belief, 1/2, in something about that person's records
	// can become at most for somebody who sees everything; 1 is certainty.
	Belief float64 `json:"belief_of_half_at_most"`
}

// BudgetSummary is the budget of the newest cohort, the one that goes on longest.
type BudgetSummary struct {
	Epsilon     float64     `json:"epsilon"`         // as in Budget
	Delta       float64     `json:"delta"`           // as in Budget
	Spent       float64     `json:"spent"`           // share of the budget, in [0, 1]
	AtLeast     float64     `json:"spent_at_least"`  // that the ledger knows of: less than Spent once retired
	Older       float64     `json:"spent_of_older"`  // the largest share that an older cohort has spent of its own
	Releases    int         `json:"releases"`        // that its records took part in
	Left        int         `json:"left"`            // releases
	Missing     int         `json:"records_missing"` // as in Budget
	Retired     bool        `json:"retired"`         // by a restore: it pays for nothing any more
	Unbounded   bool        `json:"unbounded"`       // as in Budget
	Unprotected bool        `json:"unprotected"`     // as in Budget
	Obfuscation bool        `json:"obfuscation"`     // as in Budget
	Stranded    bool        `json:"stranded"`        // the node takes part no more, as in Budget
	Plan        *PlanBudget `json:"plan"`            // which new records do not prolong; nil without one
	SumsShare   float64     `json:"sums_share"`      // of the budget, for private sums
	SumsOnly    bool        `json:"sums_only"`       // there are no releases
}

// Verification and Line are what the owner sees of the ledger on disk.
type (
	Verification = storage.Verification
	Line         = storage.Line
)
