package mobile

// SetNetwork tells the node what the system's ConnectivityManager or NWPathMonitor
// says: the kind, one of NetNone, NetUnmetered, NetMetered; the interfaces as JSON,
//
//	[{"name":"wlan0","index":3,"addrs":["192.168.1.5","fe80::1%wlan0"],"multicast":true}]
//
// or "" where the system names them to everybody (not Android 11 and later); and the
// servers that resolve names, ["192.168.1.1"], or "". Call it before Start and at
// every change: until the first call the kind is NetNone.
func (n *Node) SetNetwork(kind int, interfacesJSON, dnsServersJSON string) (err error) {
	defer guard(&err)
	return errNotBuilt
}

// SetPower tells the node the state of the battery, 0 to 100 or -1 for a device
// without one, and whether the system saves power. Until the first call it is charging.
func (n *Node) SetPower(batteryPercent int, charging, saver bool) (err error) {
	defer guard(&err)
	return errNotBuilt
}
