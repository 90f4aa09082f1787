package server

import (
	"context"

	"p2pnode/node/api"
)

func routeNetwork(r *routes, owner api.Networker) {
	ask(r, operation{"GET /v1/neighbours", api.Read, "listNeighbours", "Whom the node learns with, by what weight and why, and who is refused"}, owner.Neighbours)
	ask(r, operation{"GET /v1/peers", api.Read, "listPeers", "Whom the node can start from"}, owner.Acquaintances)
	ask(r, operation{"GET /v1/peers/why", api.Read, "listStandings", "Who is refused, limited or distrusted: why, since when, for how long, and what it was counted for"}, owner.Standings)
	ask(r, operation{"GET /v1/evidence", api.Read, "listEvidence", "Proofs that peers signed two different models for one round"}, owner.Evidence)
	tell(r, operation{"POST /v1/peers", api.Admin, "addPeer", "Add a peer to start from"},
		func(ctx context.Context, in api.PeerAddress) (api.Addition, error) {
			return owner.AddPeer(ctx, in.Address)
		})
	handle(r, operation{"DELETE /v1/peers/{peer}", api.Admin, "removePeer", "Remove a peer that was added"},
		func(ctx context.Context, in *peerInput) (*struct{}, error) {
			return nil, owner.RemovePeer(ctx, in.Peer)
		})
	ask(r, operation{"GET /v1/members", api.Read, "getMembers", "The private network, and the list of its members"}, owner.Members)
	order(r, operation{"PUT /v1/members", api.Admin, "putMembers", "Take over a newer list of members"},
		func(ctx context.Context, in api.MemberList) error { return owner.ImportMembers(ctx, in.List) })
}

type peerInput struct {
	Peer string `path:"peer" doc:"a peer ID, or an address that ends in one"`
}
