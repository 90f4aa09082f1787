package datadir

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/multiformats/go-multiaddr"

	"p2pnode/discovery/reach"
	"p2pnode/learner"
	"p2pnode/privacy"
)

// Consent is the sentence an operator must write into the configuration's key
// "unprotected" to send models without any privacy guarantee.
const Consent = "send my models without privacy"

// WakeInRounds says of a wake that an owner sets why nothing comes of it where the task's
// learner goes in rounds.
const WakeInRounds = "has no effect: the task's learner goes in rounds, and rounds.seconds of the task sets their pace"

// Config is a node's own part of the configuration: the file config.toml of its data
// directory. What all nodes of a network must agree on is in the task. The tag "change"
// says what a change of the key takes, other than the node's next start; see [Key].
type Config struct {
	Listen     []string `toml:"listen" comment:"multiaddresses to listen on"`
	Bootstrap  []string `toml:"bootstrap" change:"live" comment:"peers to start from, as /ip4/.../tcp/.../p2p/ID"`
	Announce   []string `toml:"announce,omitempty" comment:"further addresses others can reach this node at, for a port forwarded by hand: /ip4/198.51.100.7/tcp/4001"`
	UPnP       bool     `toml:"upnp" comment:"ask the router to forward the port (UPnP); needs an address in listen that is not loopback"`
	Relays     []string `toml:"relays,omitempty" comment:"relays to be reached through while nobody can call this node, as /ip4/.../tcp/.../p2p/ID; bootstrap peers and relays\nof other peers are asked too"`
	Relay      bool     `toml:"relay_service" comment:"carry the connections of nodes of this task that cannot be called, up to 1 GiB an hour for each; for machines that can"`
	Neighbours []string `toml:"neighbours,omitempty" comment:"peer IDs: only these become neighbours, and they must list this node too; left out: any peer that fits"`

	Interfaces []string `toml:"interfaces,omitempty" comment:"names of network interfaces: only these are announced and searched for peers; left out: all"`

	APIListen string   `toml:"api_listen,omitempty" comment:"offer the owner's interface and the dashboard at this address too, as 127.0.0.1:8467, to programs that show a token"`
	APIPublic bool     `toml:"api_public,omitempty" comment:"api_listen may be an address that other machines reach; it is served over TLS only"`
	APIHosts  []string `toml:"api_hosts,omitempty" comment:"further hosts, with their ports, that requests may name, for a name or a forwarded port: node.example:8467"`
	APICert   string   `toml:"api_tls_cert,omitempty" comment:"the file of a certificate for TLS; left out: one that carries this node's peer ID, which programs can check"`
	APIKey    string   `toml:"api_tls_key,omitempty" comment:"the file of its key"`

	Experiment bool `toml:"experiment,omitempty" comment:"the records are public or made up: with api_public, programs on other machines that show a token get the errors on held-out records too"`

	MDNS  bool   `toml:"mdns" comment:"look for peers on the local network"`
	DHT   string `toml:"dht" comment:"the hash table nodes meet in: server, client (asks others and answers nobody: a phone, a metered link), or off: only\nthe bootstrap peers, the local network and what neighbours know"`
	Power string `toml:"power" comment:"normal, or low: notices lost peers later and does less while idle, for batteries"`

	Epsilon     float64 `toml:"epsilon" change:"promised" comment:"the privacy budget of each record, for its whole life: smaller protects more"`
	Delta       float64 `toml:"delta" change:"promised" comment:"room for exceptions: more than epsilon may be told now and then, and delta bounds how often and how much\nmore, taken together. It happens more often than delta says; \"p2pnode budget\" prints how often. Keep delta\nbelow 1/(100 times the records)"`
	Releases    int     `toml:"releases" change:"promised" comment:"how many releases share that budget"`
	WakeSeconds float64 `toml:"wake_seconds" comment:"mean time between two releases"`

	Listeners     int     `toml:"listeners" change:"live" comment:"in a network that is open to strangers: how many of them must listen before anything is released, each on a network\nof its own; 0: anybody will do. Members of a private network, peers that you have named, and your local network need\nnot be waited for: one of them is enough"`
	ListenerHours float64 `toml:"listener_hours" change:"live" comment:"how long they must have been neighbours by then"`
	DailyReleases int     `toml:"daily_releases,omitempty" change:"live" comment:"no more releases than this in 24 hours; left out: no limit"`

	Noise       string  `toml:"noise" change:"promised" comment:"gaussian, laplace, truncated-gaussian or truncated-laplace"`
	Accounting  string  `toml:"accounting" change:"promised" comment:"how the budget adds up: gdp (for gaussian), pure (for laplace), renyi (for both), or plan: all releases\nare fixed before the first, for every noise. After the first release it cannot change, nor can epsilon\nand delta; with renyi and plan, nor can releases, noise and pace."`
	Pace        string  `toml:"pace" change:"promised" comment:"uniform, growing (later releases get less noise and cost more; needs contraction), or one-shot"`
	Contraction float64 `toml:"contraction,omitempty" change:"promised" comment:"for growing, and only then: how much of the noise before is left after an update, between 0 and 1; 0.9 to begin with"`
	Batch       int     `toml:"batch,omitempty" change:"promised" comment:"of every 100 records, how many take part in a release; 0 is all. Only with a plan."`
	CohortHours float64 `toml:"cohort_hours" change:"live" comment:"records that arrive later than this after a cohort's first begin a new cohort; 0 is never"`

	KeepRecords  int     `toml:"keep_records,omitempty" change:"live" comment:"how many of the newest records to keep; older ones are deleted, here and from what is learned; left out: all"`
	KeepDays     float64 `toml:"keep_days,omitempty" change:"live" comment:"keep records for so many days after they arrived; left out: for ever. Deleting frees no budget."`
	MaxMegabytes int     `toml:"max_megabytes,omitempty" change:"live" comment:"how many megabytes the database may take: beyond them no more records are stored; left out: no limit"`

	Profile     []float64 `toml:"profile,omitempty" comment:"public profile, for tasks with the graph rule profile; everybody can read it"`
	Unprotected string    `toml:"unprotected,omitempty" change:"promised" comment:"the consent to send models without any guarantee"`
}

// DefaultConfig returns the configuration that `p2pnode init` writes for a task.
func DefaultConfig(t *learner.Task) Config {
	return Config{
		Listen:        []string{"/ip4/0.0.0.0/tcp/0", "/ip6/::/tcp/0"},
		UPnP:          true,
		MDNS:          true,
		DHT:           "server",
		Power:         PowerNormal,
		Epsilon:       t.Release.Epsilon,
		Delta:         t.Release.Delta,
		Releases:      t.Release.Releases,
		WakeSeconds:   t.Release.WakeSeconds,
		Listeners:     2,
		ListenerHours: 1,
		Noise:         string(privacy.Gaussian),
		Accounting:    string(privacy.GaussianFilter),
		Pace:          string(privacy.Uniform),
	}
}

// With returns c with the values that a text in TOML gives to keys. If the text names a
// noise and no accounting, the accounting is left open, to be chosen for the noise.
func (c Config) With(text []byte, t *learner.Task) (Config, error) {
	out := c
	out.Accounting = ""
	l := layered{tomlFile: tomlFile{form: configForm()}}
	l.read(text, &out)
	if err := l.err("config"); err != nil {
		return Config{}, err
	}
	if out.Accounting == "" && out.Noise == c.Noise {
		out.Accounting = c.Accounting
	}
	return out, out.Validate(t)
}

// CheckListen returns an error that says what is wrong with an address to listen on.
func CheckListen(address string) error {
	c := Config{Listen: []string{address}}
	_, err := c.Reach(nil, false)
	return err
}

// keyError says what is wrong with the value of a key.
type keyError struct {
	key string
	err error
}

// Error implements [error].
func (e *keyError) Error() string { return fmt.Sprintf("config: key %q: %v", e.key, e.err) }

// Unwrap lets [errors.Is] and [errors.AsType] look inside.
func (e *keyError) Unwrap() error { return e.err }

// faults collects what is wrong with keys.
type faults []*keyError

func (f *faults) add(key, format string, values ...any) {
	*f = append(*f, &keyError{key, fmt.Errorf(format, values...)})
}

// note adds an error that names its key, unless it is nil.
func (f *faults) note(err error) {
	if wrong, ok := errors.AsType[*keyError](err); ok {
		*f = append(*f, wrong)
	}
}

// Validate checks every key. The error names all keys that are wrong.
func (c *Config) Validate(t *learner.Task) error {
	var all []error
	for _, f := range c.faults(t) {
		all = append(all, f)
	}
	return errors.Join(all...)
}

// faults returns what is wrong with each key by itself. Whether the keys of privacy fit
// together, only the design of the noise can tell, in policy.
func (c *Config) faults(t *learner.Task) (f faults) {
	c.checkNetwork(&f)
	c.checkInterface(&f)
	c.checkProfile(&f, t)
	c.checkPrivacy(&f, t)
	c.checkKept(&f)
	return f
}

func (c *Config) checkNetwork(f *faults) {
	known := len(*f)
	_, err := c.announced()
	f.note(err)
	_, err = peersOf("relays", c.Relays)
	f.note(err)
	_, err = c.BootstrapPeers()
	f.note(err)
	if len(*f) == known { // Reach needs them
		_, err = c.Reach(nil, false)
		f.note(err)
	}
	_, err = c.OnlyNeighbours()
	f.note(err)
	if c.DHT != "server" && c.DHT != "client" && c.DHT != "off" {
		f.add("dht", "%q is neither server nor client nor off", c.DHT)
	}
	if c.Power != PowerNormal && c.Power != PowerLow {
		f.add("power", "%q is neither normal nor low", c.Power)
	}
}

func (c *Config) checkProfile(f *faults, t *learner.Task) {
	if t.Graph.Rule == "profile" && len(c.Profile) != t.Graph.Profile {
		f.add("profile", "has %d numbers, and the task wants %d: set it, or give init --profile with commas between them; everybody can read them", len(c.Profile), t.Graph.Profile)
	}
	if t.Graph.Rule != "profile" && len(c.Profile) > 0 {
		f.add("profile", "this task's graph uses no profile; remove it, it would be public")
	}
	for _, v := range c.Profile {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			f.add("profile", "holds a number that is not finite")
			return
		}
	}
}

// OnlyNeighbours lists the peers that may become neighbours; nil: all peers may.
func (c *Config) OnlyNeighbours() (only []peer.ID, err error) {
	for _, text := range c.Neighbours {
		id, err := peer.Decode(text)
		if err != nil {
			return nil, &keyError{"neighbours", fmt.Errorf("%q is no peer ID: %w", text, err)}
		}
		only = append(only, id)
	}
	return only, nil
}

// BootstrapPeers returns the peers to start from with their addresses. The error names the
// entry of the key bootstrap that is not the address of a peer.
func (c *Config) BootstrapPeers() ([]peer.AddrInfo, error) { return peersOf("bootstrap", c.Bootstrap) }

// peersOf reads the addresses that a key of the configuration lists. Each is the address
// of a peer.
func peersOf(key string, addrs []string) ([]peer.AddrInfo, error) {
	var out []peer.AddrInfo
	for _, a := range addrs {
		info, err := peer.AddrInfoFromString(a)
		if err != nil {
			return nil, &keyError{key, reach.NoAddress(a, "/ip4/192.0.2.7/tcp/4001/p2p/ID", err)}
		}
		out = append(out, *info)
	}
	return out, nil
}

// announced returns the addresses of the key announce. They contain no peer ID, because
// the peer is this node.
func (c *Config) announced() ([]multiaddr.Multiaddr, error) {
	var out []multiaddr.Multiaddr
	for _, text := range c.Announce {
		a, err := multiaddr.NewMultiaddr(text)
		if err != nil {
			return nil, &keyError{"announce", reach.NoAddress(text, "/ip4/198.51.100.7/tcp/4001", err)}
		}
		if last := a[len(a)-1]; last.Protocol().Code == multiaddr.P_P2P {
			return nil, &keyError{"announce", fmt.Errorf("%q: leave out /p2p/ and the peer ID", text)}
		}
		if _, err := a.ValueForProtocol(multiaddr.P_TCP); err != nil {
			if _, err := a.ValueForProtocol(multiaddr.P_UDP); err != nil {
				return nil, &keyError{"announce", fmt.Errorf("%q has no port; write it as /ip4/198.51.100.7/tcp/4001", text)}
			}
		}
		out = append(out, a)
	}
	return out, nil
}

// Reach says how others reach the node, as its configuration has it. found turns the
// addresses that the host finds into those that others are told. closed says that
// strangers are kept away.
func (c *Config) Reach(found func([]multiaddr.Multiaddr) []multiaddr.Multiaddr, closed bool) (*reach.Reach, error) {
	announce, err := c.announced()
	if err != nil {
		return nil, err
	}
	relays, err := peersOf("relays", c.Relays)
	if err != nil {
		return nil, err
	}
	bootstrap, err := c.BootstrapPeers()
	if err != nil {
		return nil, err
	}
	r, err := reach.New(reach.Config{
		Listen: c.Listen, Found: found, Announce: announce, PortMap: c.UPnP, Closed: closed,
		Relays: append(relays, bootstrap...), // bootstrap peers are often relays too
	})
	if err != nil {
		return nil, &keyError{"listen", err}
	}
	return r, nil
}

// The choices of the key power.
const (
	PowerNormal = "normal"
	PowerLow    = "low"
)

// batchSlots is the whole of which Config.Batch is a share.
const batchSlots = 100

// maxCohortHours bounds Config.CohortHours: a century.
const maxCohortHours = 876_000 // so that it fits a time.Duration

// maxKeepDays bounds Config.KeepDays: a century.
const maxKeepDays = maxCohortHours / 24

// maxMegabytes bounds Config.MaxMegabytes: a petabyte.
const maxMegabytes = 1_000_000_000

// maxListeners bounds Config.Listeners: a node never has more neighbours.
const maxListeners = 256

// MaxDaily bounds Config.DailyReleases.
const MaxDaily = 1000

// checkKept checks the keys that say which records are kept.
func (c *Config) checkKept(f *faults) {
	if c.KeepRecords < 0 {
		f.add("keep_records", "%d is negative; write how many records to keep, or leave the key out to keep all", c.KeepRecords)
	}
	if c.MaxMegabytes < 0 || c.MaxMegabytes > maxMegabytes {
		f.add("max_megabytes", "%d is outside [0, %d]; write how many megabytes the database may take, or leave the key out for no limit", c.MaxMegabytes, maxMegabytes)
	}
	if !(c.KeepDays >= 0 && c.KeepDays <= maxKeepDays) {
		f.add("keep_days", "%v is outside [0, %d]; write for how many days to keep records, or leave the key out to keep them for ever", c.KeepDays, maxKeepDays)
	}
}

// Protected reports whether releases have noise and a budget.
func (c *Config) Protected() bool { return c.Unprotected == "" }

// Planned reports whether all releases are fixed before the first.
func (c *Config) Planned() bool { return c.Accounting == string(privacy.CommittedPlan) }

func (c *Config) checkPrivacy(f *faults, t *learner.Task) {
	r := t.Release
	if !(c.WakeSeconds >= r.MinWake) || c.WakeSeconds > 1e7 {
		f.add("wake_seconds", "%v is outside the task's [%v, 1e7]", c.WakeSeconds, r.MinWake)
	}
	if !(c.CohortHours >= 0 && c.CohortHours <= maxCohortHours) {
		f.add("cohort_hours", "%v is outside [0, %d]", c.CohortHours, maxCohortHours)
	}
	if c.Listeners < 0 || c.Listeners > maxListeners {
		f.add("listeners", "%d is outside [0, %d]; write how many strangers must listen before anything is released", c.Listeners, maxListeners)
	}
	if !(c.ListenerHours >= 0 && c.ListenerHours <= maxCohortHours) {
		f.add("listener_hours", "%v is outside [0, %d]", c.ListenerHours, maxCohortHours)
	}
	if c.DailyReleases < 0 || c.DailyReleases > MaxDaily {
		f.add("daily_releases", "%d is outside [1, %d]; leave the key out for no limit", c.DailyReleases, MaxDaily)
	}
	if c.Releases < 0 || c.Releases > r.MaxReleases {
		f.add("releases", "%d is outside the task's [1, %d]", c.Releases, r.MaxReleases)
	}
	switch {
	case c.Unprotected != "" && t.Silent():
		f.add("unprotected", "remove it: the learner %s sends nothing but private sums, and always has its noise in them", t.Learner)
	case c.Unprotected == Consent:
	case c.Unprotected == "" && t.Obfuscated():
		f.add("unprotected", "the learner %s is obfuscation, not differential privacy; write exactly %q to take part without a guarantee", t.Learner, Consent)
	case c.Unprotected != "":
		f.add("unprotected", "write exactly %q to give up the privacy guarantee, or remove the key", Consent)
	default:
		c.checkBudget(f, r)
		c.checkNoise(f)
		c.checkPace(f)
	}
}

func (c *Config) checkBudget(f *faults, r learner.Release) {
	if c.Releases == 0 {
		f.add("releases", "must be at least 1")
	}
	if !(c.Epsilon > 0) || c.Epsilon > r.MaxEpsilon {
		f.add("epsilon", "%v is outside the task's (0, %v]", c.Epsilon, r.MaxEpsilon)
	}
	if !(c.Delta > 0) || c.Delta > r.MaxDelta {
		f.add("delta", "%v is outside the task's (0, %v]", c.Delta, r.MaxDelta)
	}
}

func (c *Config) checkNoise(f *faults) {
	noises := texts(privacy.Noises()...)
	accountings := texts(privacy.GaussianFilter, privacy.PureFilter, privacy.RenyiFilter, privacy.CommittedPlan)
	if !slices.Contains(noises, c.Noise) {
		f.add("noise", "%q is none of %q", c.Noise, noises)
	}
	if c.Accounting != "" && !slices.Contains(accountings, c.Accounting) {
		f.add("accounting", "%q is none of %q", c.Accounting, accountings)
	}
	switch {
	case c.Batch < 0 || c.Batch > batchSlots:
		f.add("batch", "%d is outside [0, %d]", c.Batch, batchSlots)
	case c.Batch > 0 && !c.Planned():
		f.add("batch", "only a plan can account for releases of some of the records; set accounting = %q, or batch = 0", privacy.CommittedPlan)
	}
}

func (c *Config) checkPace(f *faults) {
	if paces := texts(privacy.Uniform, privacy.Growing, privacy.OneShot); !slices.Contains(paces, c.Pace) {
		f.add("pace", "%q is none of %q", c.Pace, paces)
	}
	if c.Pace == string(privacy.OneShot) && c.Releases > 1 {
		f.add("releases", "is %d, and the pace one-shot has 1; change one of them", c.Releases)
	}
	switch growing := c.Pace == string(privacy.Growing); {
	case growing && c.Contraction == 0:
		f.add("contraction", "is missing, and pace = %q needs it; add contraction = 0.9", c.Pace)
	case !growing && c.Contraction != 0:
		f.add("contraction", "is for pace = %q only; remove it", privacy.Growing)
	case !(c.Contraction >= 0 && c.Contraction < 1):
		f.add("contraction", "%v is not between 0 and 1", c.Contraction)
	}
}

func texts[T ~string](values ...T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}
