package node
import ("testing";"time";"math/rand/v2")
func TestScratch(t *testing.T){
	task := learnerTask("diffusion"); task.Diffusion.Noise="transmit-only"
	w := startGraph(t, ring(3), task, nil)
	defer w.stop()
	w.addRecords(t, rand.New(rand.NewPCG(17, 18)), 30)
	for range 25 {
		time.Sleep(time.Second)
		for _, n := range w.nodes {
			b, err := n.Budget(t.Context())
			if err!=nil {t.Fatal(err)}
			s := status(t,n)
			t.Logf("%+v round %v done %v live %+v", b.Cohorts, s.Rounds, s.Done, s.Neighbours)
		}
	}
}
