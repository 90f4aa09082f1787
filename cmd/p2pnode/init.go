package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"p2pnode/csvfile"
	"p2pnode/node/datadir"

	"al.essio.dev/pkg/shellescape"
	"github.com/spf13/cobra"
)

func initCommand(o *options) *cobra.Command {
	var f initFlags
	c := &cobra.Command{
		Use:   "init",
		Short: "Make a data directory: an identity, a configuration and a task",
		Long: `Make a data directory: an identity key only you can read, config.toml with
your choices, which you can edit later, and task.toml, which all nodes of the
network share.

Nodes find each other on the local network by themselves. To reach others,
give the address of one running node, as "p2pnode run" prints it, with
--bootstrap.

--if-missing succeeds and changes nothing if the directory holds a node of that
task already, so that a start of a container may begin with it.

--for names a kind of machine: "p2pnode config profile" lists them. --set gives
any key of config.toml a value, and so does the environment, as P2PNODE_MDNS;
what --set says counts more, and flags of their own count most.`,
		Example: `  p2pnode init
  p2pnode init --dir /var/lib/p2pnode --task mytask.toml --epsilon 0.5 --json
  p2pnode init --epsilon 0.5 --delta 1e-8 --releases 20 --pace growing
  p2pnode init --noise laplace
  p2pnode init --if-missing --task mytask.toml
  p2pnode init --for lowpower --set keep_days=30
  p2pnode init --accounting plan --noise truncated-gaussian
  p2pnode init --bootstrap /ip4/192.0.2.7/tcp/4001/p2p/12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			t, err := datadir.LoadTask(f.task)
			if err != nil {
				return err
			}
			conf := datadir.DefaultConfig(t)
			if err := f.change(&conf, o.settings, cmd.Flags().Changed); err != nil {
				return err
			}
			made := datadir.New{Task: t, Config: conf, Identity: f.identity}
			if f.missing {
				if before, err := madeBefore(o, made); before || err != nil {
					return err
				}
			}
			if made.Catalogue, err = readCatalogue(f.catalogue); err != nil {
				return err
			}
			if err := datadir.Make(o.dir, made); err != nil {
				return err
			}
			if t.InRounds() && cmd.Flags().Changed("wake") {
				fmt.Fprintln(cmd.ErrOrStderr(), "--wake "+datadir.WakeInRounds+".")
			}
			report, err := aboutDirectory(o.dir, made)
			if err != nil {
				return err
			}
			if self, err := datadir.PeerOf(o.dir); err == nil && report.Sums != nil {
				report.Sums.place(self.String(), f.identity != "")
			}
			return show(cmd, o, report, newDirectory.String)
		},
	}
	f.register(c)
	return c
}

// readCatalogue reads the file that lists the keys of a task; nil if none is named.
func readCatalogue(name string) ([]byte, error) {
	if name == "" {
		return nil, nil
	}
	content, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read the catalogue: %w", err)
	}
	return content, nil
}

// holdsNode reports whether a directory holds a node, or something that may be one.
func holdsNode(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, datadir.KeyFile))
	return !errors.Is(err, fs.ErrNotExist)
}

// madeBefore reports whether the directory already holds a node with the task of made.
// A node with another task is an error.
func madeBefore(o *options, made datadir.New) (bool, error) {
	if !holdsNode(o.dir) {
		return false, nil
	}
	files, err := datadir.Read(o.dir, o.settings...)
	if err != nil {
		return true, err
	}
	if held, wanted := datadir.NetworkName(files.Task), datadir.NetworkName(made.Task); held != wanted {
		return true, fmt.Errorf("%s holds a node of another task: of network %s, not %s; choose another directory, or give the node's own task", o.dir, held, wanted)
	}
	return true, nil
}

// initFlags are the flags of init.
type initFlags struct {
	task      string
	listen    []string
	bootstrap []string
	profile   []float64
	epsilon   float64
	delta     float64
	releases  int
	wake      float64
	noise     string
	account   string
	pace      string
	batch     int
	noMDNS    bool
	machine   string
	set       []string
	consent   string
	identity  string
	catalogue string
	missing   bool
}

func (f *initFlags) register(c *cobra.Command) {
	f.registerOwn(c)
	flags := c.Flags()
	flags.StringVar(&f.task, "task", "movies", "built-in task (movies, linear, clusters) or a task file ending in .toml")
	completeFlag(c, "task", "toml", "movies", "linear", "clusters")
	flags.BoolVar(&f.missing, "if-missing", false, "change nothing if the directory holds a node of the task already")
	flags.StringVar(&f.catalogue, "catalogue", "", "file that lists the keys of a task that sums up by them; the task names its hash")
}

// registerOwn registers the flags for the choices that each node makes itself.
func (f *initFlags) registerOwn(c *cobra.Command) {
	flags := c.Flags()
	flags.StringSliceVar(&f.listen, "listen", nil, "multiaddress to listen on (default every interface, a TCP port chosen now)")
	flags.StringSliceVar(&f.bootstrap, "bootstrap", nil, "address of a running node, with /p2p/ and its ID")
	flags.Float64SliceVar(&f.profile, "profile", nil, "your public profile, `NUMBERS` with commas between, for tasks whose graph uses one; everybody can read it")
	flags.Lookup("profile").DefValue = "" // no default is shown
	flags.Float64Var(&f.epsilon, "epsilon", 0, "privacy budget of each record (default the task's)")
	flags.Float64Var(&f.delta, "delta", 0, "room for exceptions to epsilon; \"p2pnode budget\" says how often they occur (default the task's)")
	flags.IntVar(&f.releases, "releases", 0, "how many releases share the budget (default the task's)")
	flags.Float64Var(&f.wake, "wake", 0, "mean seconds between two releases, if the task has no rounds (default the task's)")
	flags.StringVar(&f.noise, "noise", "", "gaussian (default), laplace, truncated-gaussian or truncated-laplace")
	flags.StringVar(&f.account, "accounting", "", "gdp, pure, renyi or plan (default what suits the noise)")
	flags.StringVar(&f.pace, "pace", "", "uniform (default), growing (later releases cost more) or one-shot")
	flags.IntVar(&f.batch, "batch", 0, "of every 100 records, how many take part in a release; with a plan only (default all)")
	flags.BoolVar(&f.noMDNS, "no-mdns", false, "do not look for nodes on the local network")
	flags.StringVar(&f.machine, "for", "", "the kind of machine: "+strings.Join(profileNames(), ", "))
	completeFlag(c, "for", "", profileNames()...)
	completeFlag(c, "noise", "", "gaussian", "laplace", "truncated-gaussian", "truncated-laplace")
	completeFlag(c, "accounting", "", "gdp", "pure", "renyi", "plan")
	completeFlag(c, "pace", "", "uniform", "growing", "one-shot")
	flags.StringArrayVar(&f.set, "set", nil, "the value of any key of config.toml, as `KEY=VALUE`")
	flags.StringVar(&f.identity, "identity", "", "file with the identity to use, from: p2pnode identity (default a new one)")
	flags.StringVar(&f.consent, "unprotected", "", fmt.Sprintf("give up privacy: write %q", datadir.Consent))
}

// change replaces defaults by what was chosen: the kind of machine, the environment,
// settings, flags.
func (f *initFlags) change(c *datadir.Config, environment []datadir.Setting, changed func(flag string) bool) error {
	c.Listen = everywhere(firstPort + rand.IntN(lastPort-firstPort+1))
	if f.machine != "" {
		if err := c.Use(f.machine); err != nil {
			return err
		}
	}
	set, err := settings(f.set)
	if err != nil {
		return err
	}
	over := slices.Concat(environment, set)
	if err := c.Found(over); err != nil {
		return err
	}
	f.changeOwn(c, changed)
	f.changeNoise(c, changed, func(key string) bool {
		return slices.ContainsFunc(over, func(s datadir.Setting) bool { return s.Key == key })
	})
	if changed("listen") {
		return listenable(c.Listen)
	}
	return nil
}

// listenable returns what is wrong with the addresses of the flag --listen.
func listenable(addresses []string) error {
	if len(addresses) == 0 {
		return errors.New("--listen is empty: name an address, such as /ip4/0.0.0.0/tcp/4001, or leave it out")
	}
	for _, a := range addresses {
		if err := datadir.CheckListen(a); err != nil {
			return fmt.Errorf("--listen: %w", errors.Unwrap(err)) // without the key
		}
	}
	return nil
}

// changeOwn sets the choices that have flags of their own.
func (f *initFlags) changeOwn(c *datadir.Config, changed func(flag string) bool) {
	c.Unprotected = f.consent
	if changed("bootstrap") {
		c.Bootstrap = f.bootstrap
	}
	if changed("profile") {
		c.Profile = f.profile
	}
	if changed("no-mdns") {
		c.MDNS = !f.noMDNS
	}
	if changed("listen") {
		c.Listen = f.listen
	}
	if changed("epsilon") {
		c.Epsilon = f.epsilon
	}
	if changed("delta") {
		c.Delta = f.delta
	}
	if changed("releases") {
		c.Releases = f.releases
	}
	if changed("wake") {
		c.WakeSeconds = f.wake
	}
}

// changeNoise sets the keys that depend on the chosen noise and pace, unless flags or settings
// say them too.
func (f *initFlags) changeNoise(c *datadir.Config, changed, said func(key string) bool) {
	if changed("batch") {
		c.Batch = f.batch
	}
	if changed("noise") {
		c.Noise = f.noise
	}
	switch {
	case said("accounting"):
	case c.NeedsPlan():
		c.Accounting = "plan" // nothing else has a price for it
	case changed("noise"):
		c.Accounting = "" // what suits it
	}
	if changed("accounting") {
		c.Accounting = f.account
	}
	if !changed("pace") {
		return
	}
	c.Pace = f.pace
	switch c.Pace {
	case "growing":
		if !said("contraction") {
			c.Contraction = growingContraction
		}
	case "one-shot":
		if !changed("releases") && !said("releases") {
			c.Releases = 1
		}
	}
}

// growingContraction is what init writes for the pace growing; config.toml can say
// otherwise.
const growingContraction = 0.9

// The ports that init chooses from. They are not reserved, and lie below those that
// systems give to outgoing connections.
const (
	firstPort = 20000
	lastPort  = 32767
)

// everywhere returns the addresses to listen on one port of every interface. The port is
// the same at every start, so that an address given to others stays valid.
func everywhere(port int) []string {
	return []string{fmt.Sprintf("/ip4/0.0.0.0/tcp/%d", port), fmt.Sprintf("/ip6/::/tcp/%d", port)}
}

// manyPure is the number of releases from which pure accounting needs clearly more noise
// than the others.
const manyPure = 5

// newDirectory says what init made.
type newDirectory struct {
	Dir       string   `json:"dir"`
	Task      string   `json:"task"`
	Network   string   `json:"network"`
	Columns   []string `json:"columns"` // of the CSV files to import
	Epsilon   float64  `json:"epsilon"`
	Delta     float64  `json:"delta"`
	Releases  int      `json:"releases"`
	Protected bool     `json:"protected"`
	Pure      bool     `json:"pure"` // accounting, which keeps epsilon without exception
	// Obfuscation: what is sent is obfuscated, which is not differential privacy.
	Obfuscation bool `json:"obfuscation"`
	// SumsOnly means that there are no releases, only private sums.
	SumsOnly bool     `json:"sums_only"`
	Sums     *newSums `json:"sums"` // nil: the task has none
}

// aboutDirectory describes a directory that is made, or about to be made. It does not
// know yet whether the node is a member of its committee.
func aboutDirectory(dir string, made datadir.New) (newDirectory, error) {
	kept, t, conf := made.Config.Guarantee(), made.Task, made.Config
	d := newDirectory{
		Dir: dir, Task: t.Name, Network: datadir.NetworkName(t), Columns: t.Columns(),
		Epsilon: kept.Epsilon, Delta: kept.Delta, Releases: conf.Releases, Protected: conf.Protected(),
		Pure: conf.Pure(), Obfuscation: t.Obfuscated(), SumsOnly: t.Silent(),
	}
	s := t.Sums
	if len(s.Recipes) == 0 {
		return d, nil
	}
	catalogue, err := datadir.ReadCatalogue(t, made.Catalogue)
	if err != nil {
		return d, err
	}
	only, err := datadir.OnlyFetches(t, conf, catalogue)
	d.Sums = &newSums{Share: s.Share(), Committee: s.Committee, Colluding: s.Colluding, OnlyFetches: only}
	return d, err
}

// newSums says whom an owner who takes part in private sums must trust.
type newSums struct {
	Share     float64  `json:"share"` // of the budget
	Committee []string `json:"committee"`
	Colluding int      `json:"colluding"`
	Member    bool     `json:"member"` // this node is one
	Outside   string   `json:"-"`      // the owner chose this identity, which is none of the committee
	// OnlyFetches is as in [api.Sums].
	OnlyFetches bool `json:"only_fetches"`
}

// place notes whether a peer, whose identity the owner chose or not, is in the committee.
func (s *newSums) place(self string, chosen bool) {
	if s.Member = slices.Contains(s.Committee, self); chosen && !s.Member {
		s.Outside = self
	}
}

// String implements [fmt.Stringer].
func (s newSums) String() string {
	text := paragraph("", onlyFetches)
	if !s.OnlyFetches {
		text = paragraph("", fmt.Sprintf("%s of that is for private sums, which a committee of %d adds up. All who take part trust that no %d of them work together: "+
			"if they do, they read what this node adds to a sum, exactly. They are:", cost(s.Share), len(s.Committee), s.Colluding+1))
		for _, m := range s.Committee {
			text += "  " + m + "\n"
		}
	}
	if s.Member {
		text += paragraph("", "This node is one of them. Others must be able to call it, and a sum opens only when all members run. "+
			"What it must keep to itself will be in its directory \"committee\": never copy that.")
	}
	if s.Outside != "" {
		text += paragraph("", "This identity, "+s.Outside+", is none of the committee.")
	}
	return text
}

// String implements [fmt.Stringer].
func (d newDirectory) String() string {
	dir := dirFlag(d.Dir)
	first := fmt.Sprintf("%s data import FILE.csv%s   (columns %s)", program("p2pnode"), dir, csvfile.Header(d.Columns))
	second := program("p2pnode") + " run" + dir
	if d.Sums != nil && d.Sums.Member { // most members have no records
		first, second = second, first+", if you have records too"
	}
	return fmt.Sprintf("Made a node for the task %s in %s.\n%s\nNext: %s\nthen: %s\n", d.Task, d.Dir, d.guarantee(), first, second)
}

// dirFlag names a directory in a command, unless it is the usual one.
func dirFlag(dir string) string {
	if filepath.Clean(dir) == defaultDir() {
		return ""
	}
	return " --dir " + shellescape.Quote(dir)
}

// guarantee says how each record is protected, and whom the owner must trust.
func (d newDirectory) guarantee() string {
	guarantee := "Its models will be sent WITHOUT any privacy guarantee."
	switch {
	case d.Obfuscation:
		guarantee = "Its gradients will be sent with " + obfuscation + ": WITHOUT any privacy guarantee."
	case d.Protected && d.SumsOnly:
		guarantee = fmt.Sprintf("Each record is protected with epsilon %v, delta %v.", d.Epsilon, d.Delta)
	case d.Protected:
		guarantee = fmt.Sprintf("Each record is protected with epsilon %v, delta %v, over at most %d %s.",
			d.Epsilon, d.Delta, d.Releases, plural(d.Releases, "release", "releases"))
	}
	if d.Sums != nil && d.Protected {
		guarantee += "\n" + strings.TrimSuffix(d.Sums.String(), "\n")
	}
	if d.Protected && d.Pure && d.Releases > manyPure {
		guarantee += fmt.Sprintf("\nThat holds without exception and costs much noise for %d releases: --noise laplace --accounting renyi,\n"+
			"or --noise gaussian, needs less noise and allows the exceptions of a small delta.", d.Releases)
	}
	return guarantee
}
