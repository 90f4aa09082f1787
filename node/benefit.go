package node

import (
	"context"

	"p2pnode/node/api"
)

// Benefit implements [api.Reporter].
func (n *Node) Benefit(context.Context) ([]api.BenefitPoint, error) { return []api.BenefitPoint{}, nil }
