package node

import (
	"math/rand/v2"
	"testing"

	"p2pnode/internal/require"
	"p2pnode/node/datadir"
)

func TestNodesOfLowPowerLearn(t *testing.T) {
	t.Parallel()
	server := testNode(t, lineTask(), lineRecords(rand.New(rand.NewPCG(1, 1)), 30), nil)
	start(t, server)
	from := waitForAddrs(t, server)
	for seed := range uint64(2) {
		low := testNode(t, lineTask(), lineRecords(rand.New(rand.NewPCG(2, seed)), 30), func(c *datadir.Config) {
			require.NoError(t, c.Use(datadir.LowPower))
			c.Bootstrap = from
		})
		start(t, low)
		require.Eventually(t, "a node of low power uses its budget and hears others", func() bool {
			s := status(t, low)
			return s.Done && s.Heard > 0
		})
	}
}
