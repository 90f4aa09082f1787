package mobile

// AddPeer makes the node remember a peer that the app found, by NsdManager, Bonjour, a
// QR code, and connect to it whenever it runs: a multiaddress that ends in /p2p/ and
// its ID. It returns at once; the event "peer" says what came of the attempt.
func (n *Node) AddPeer(multiaddr string) (err error) {
	defer guard(&err)
	return errNotBuilt
}

// RemovePeer makes the node forget a peer that was added, by its ID or address.
func (n *Node) RemovePeer(peerOrAddress string) (err error) {
	defer guard(&err)
	return errNotBuilt
}
