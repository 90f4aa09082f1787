package mobile

// Listener is the app's. One thread calls it, one event at a time and in order, and no
// lock is held, so it may call any method. What it throws is logged and dropped. A
// listener that is slower than events arrive loses the oldest; the event "lost" says
// how many.
type Listener interface {
	// OnEvent is called with one of the kinds
	//
	//	state       {"state":…, "reason":…}          as in StatusJSON
	//	stored      {"examples":…, "queued":…}       examples are on disk
	//	model       {"examples":…, "current":…}      there is a newer personal model
	//	neighbours  {"neighbours":…, "listening":…, "heard":…}
	//	released    {"round":…, "left":…, "spent":…} a model left the device
	//	peer        {"id":…, "connected":…, "reason":…}  what came of AddPeer
	//	error       {"code":…, "message":…}          something failed outside of a call
	//	lost        {"events":…}
	OnEvent(kind, payloadJSON string) error
	// OnLog is called with what the daemon would log.
	OnLog(level int, message string) error
}
