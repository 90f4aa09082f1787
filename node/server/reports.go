package server

import (
	"context"

	"p2pnode/node/api"
)

func routePredictions(r *routes, owner api.Predictor) {
	tell(r, operation{"POST /v1/predict", api.Data, "predict", "What the personal model says of a row"}, owner.Predict)
	tell(r, operation{"POST /v1/predict/rows", api.Data, "predictRows", "What it says of many rows"}, owner.PredictRows)
	ask(r, operation{"GET /v1/model", api.Data, "getModel", "The personal model, with its coder"}, owner.Model)
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
	ask(r, operation{"GET /v1/sums", api.Read, "getSums", "The private sums of the task"}, owner.Sums)
}

type statusInput struct {
	Fit bool `query:"fit" default:"true" doc:"with the errors of the personal model, which takes a fit"`
}

func routeBudget(r *routes, owner api.Accountant) {
	ask(r, operation{"GET /v1/budget", api.Read, "getBudget", "What of the privacy budget is spent"}, owner.Budget)
	ask(r, operation{"GET /v1/budget/verification", api.Read, "verifyBudget", "Check the ledger on disk"}, owner.Verify)
	ask(r, operation{"GET /v1/budget/statement", api.Read, "getStatement", "A signed statement of what is guaranteed, for others"}, owner.Statement)
	ask(r, operation{"GET /v1/budget/ledger", api.Read, "getLedger", "The lines of the ledger"}, owner.Ledger)
}
