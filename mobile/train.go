package mobile

// Train does one slice of work, for WorkManager and BGProcessingTask: writes what
// waits, takes part in the network while the conditions allow it, and brings the
// personal model up to date, whether the node was started or not. It takes at most
// maxMillis milliseconds and about a second more, and less when nothing is left to do
// or when the node is stopped or paused meanwhile. The JSON says what was done:
//
//	{"millis":…, "online_millis":…, "waiting":"waiting for Wi-Fi", "stored":…, "releases":…, "heard":…, "fitted":true}
func (n *Node) Train(maxMillis int) (resultJSON string, err error) {
	defer guard(&err)
	return "", errNotBuilt
}
