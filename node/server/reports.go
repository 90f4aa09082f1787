package server

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"p2pnode/node/api"
	"p2pnode/rowfile"
)

func routePredictions(r *routes, owner api.Predictor) {
	tell(r, operation{"POST /v1/predict", api.Data, "predict", "What the personal model says of a row"},
		func(ctx context.Context, a asked) (api.Prediction, error) {
			row, err := rowfile.Texts(a)
			if err != nil {
				return api.Prediction{}, api.WrongRequest(fmt.Errorf("server: %w", err))
			}
			return owner.Predict(ctx, row)
		})
	tell(r, operation{"POST /v1/predict/rows", api.Data, "predictRows", "What it says of many rows"},
		func(ctx context.Context, in askedRows) (api.Answers, error) {
			rows := api.Rows{Rows: make([]map[string]string, len(in.Rows)), Since: in.Since}
			for i, a := range in.Rows {
				var err error
				if rows.Rows[i], err = rowfile.Texts(a); err != nil {
					return api.Answers{}, api.WrongRequest(fmt.Errorf("server: row %d: %w", i+1, err))
				}
			}
			return owner.PredictRows(ctx, rows)
		})
	ask(r, operation{"GET /v1/model", api.Data, "getModel", "The personal model, with its coder"}, owner.Model)
}

// asked is a row of which a prediction is asked: its cells by column, as texts or numbers,
// as in [api.NewRecords].
type asked map[string]json.RawMessage

// askedRows are [api.Rows] of such rows.
type askedRows struct {
	Rows  []asked   `json:"rows"`
	Since time.Time `json:"since,omitzero"`
}

func routeReports(r *routes, owner api.Reporter) {
	handle(r, operation{"GET /v1/status", api.Read, "getStatus", "How the node is doing"}, func(ctx context.Context, in *statusInput) (*body[api.Status], error) {
		if in.Fit {
			return answer(owner.Status(ctx))
		}
		return answer(owner.Progress(ctx))
	})
	ask(r, operation{"GET /v1/benefit", api.Read, "getBenefit", "What learning with others brought, over time"},
		func(ctx context.Context) (api.Benefit, error) {
			points, err := owner.Benefit(ctx)
			return api.Benefit{Points: points}, err
		})
	ask(r, operation{"GET /v1/doctor", api.Read, "getDoctor", "Whether the node can be reached, and what to do"}, owner.Doctor)
	ask(r, askSums, owner.Sums)
}

var askSums = operation{"GET /v1/sums", api.Read, "getSums", "The private sums of the task"}

type statusInput struct {
	Fit bool `query:"fit" default:"true" doc:"with the errors of the personal model, which takes a fit"`
}

func routeBudget(r *routes, owner api.Accountant) {
	ask(r, operation{"GET /v1/budget", api.Read, "getBudget", "What of the privacy budget is spent"}, owner.Budget)
	ask(r, operation{"GET /v1/budget/verification", api.Read, "verifyBudget", "Check the ledger on disk"}, owner.Verify)
	ask(r, operation{"GET /v1/budget/statement", api.Read, "getStatement", "A signed statement of what is guaranteed, for others"}, owner.Statement)
	ask(r, operation{"GET /v1/budget/ledger", api.Read, "getLedger", "The lines of the ledger"}, owner.Ledger)
}
