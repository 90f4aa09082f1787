package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"p2pnode/node/api"
	"p2pnode/storage"
)

const (
	// benefitSeries is the series in which the comparisons of earlier fits are kept.
	benefitSeries = "benefit"
	// fitEvery is how often a running node fits if it knows something new, so that there
	// are comparisons even if nobody asks. fitShare is the largest share of the time that
	// these fits may take.
	fitEvery = time.Hour
	fitShare = 1. / 100
	// The points that are kept: the first of each hour of the last month and, before
	// that, the first of each day, for at most mostDays days. They take half a megabyte
	// at most.
	hourly   = 30 * 24 * time.Hour
	mostDays = 1000
)

// Benefit implements [api.Reporter]. The last point is that of the newest fit, even if it
// will not be kept.
func (n *Node) Benefit(context.Context) ([]api.BenefitPoint, error) {
	kept, err := n.store.Points(benefitSeries)
	if err != nil {
		return nil, fmt.Errorf("node: read how good earlier models were: %w", err)
	}
	out := make([]api.BenefitPoint, len(kept))
	for i, p := range kept {
		if err := json.Unmarshal(p.Value, &out[i]); err != nil {
			return nil, fmt.Errorf("node: read what was kept of the fit at %v: %w", p.At, err)
		}
	}
	if newest := n.newestBenefit(); newest != nil && (len(out) == 0 || newest.Time.After(out[len(out)-1].Time)) {
		out = append(out, *newest)
	}
	return out, nil
}

// newestBenefit returns the point of the newest fit that was finished; nil if there is
// none, or if it had nothing to compare on.
func (n *Node) newestBenefit() *api.BenefitPoint {
	n.fits.mu.Lock()
	defer n.fits.mu.Unlock()
	if m := n.fits.newest; m != nil && m.whole {
		return m.point
	}
	return nil
}

// pointOf returns the point of a fit that is kept.
func pointOf(m *Fitted, round uint64) *api.BenefitPoint {
	c := m.Comparison
	if c == nil {
		return nil
	}
	return &api.BenefitPoint{
		Time: m.At.UTC(), Measure: c.Measure, Personal: c.Personal, Alone: c.Alone, Base: c.Base, Gain: c.Gain, Verdict: c.Verdict,
		ByLogLoss: c.ByLogLoss, HeldOut: c.HeldOut, Records: m.Records, Round: round,
	}
}

// comparing keeps the comparisons of a running node's fits until ctx ends, and begins a
// fit from time to time if the node knows something new. A node that saves power fits
// only when somebody asks.
func (n *Node) comparing(ctx context.Context) error {
	timer := time.NewTimer(fitEvery)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-n.fits.compared:
			if err := n.keepBenefit(); err != nil {
				return err
			}
		case <-timer.C:
			if !n.Sparing() {
				n.fitAgain(ctx)
			}
			timer.Reset(max(fitEvery, time.Duration(float64(n.fits.lastTook())/fitShare)))
		}
	}
}

// fitAgain begins a fit unless the newest one knows everything already.
func (n *Node) fitAgain(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	cancel() // the fit continues without anybody waiting for it
	if _, err := n.Personal(ctx); err != nil && !errors.Is(err, context.Canceled) {
		n.log.Warn("the personal model was not fitted", "error", err)
	}
}

// keepBenefit stores the newest comparison, if it is the first of its hour.
func (n *Node) keepBenefit() error {
	p := n.newestBenefit()
	if p == nil || p.Time.Truncate(time.Hour).Equal(n.keptHour) {
		return nil
	}
	value, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("node: store how good the model is: %w", err)
	}
	if err := n.store.AddPoint(benefitSeries, storage.Point{At: p.Time, Value: value}, thinned); err != nil {
		return fmt.Errorf("node: store how good the model is: %w", err)
	}
	n.keptHour = p.Time.Truncate(time.Hour)
	return nil
}

// thinned returns the times of the points to drop, given all times in ascending order,
// the newest last.
func thinned(times []time.Time) (drop []time.Time) {
	if len(times) == 0 {
		return nil
	}
	month := times[len(times)-1].Add(-hourly)
	var days []time.Time
	var last time.Time
	for _, at := range times {
		every := time.Hour
		if at.Before(month) {
			every = 24 * time.Hour
		}
		if !last.IsZero() && at.Truncate(every).Equal(last.Truncate(every)) {
			drop = append(drop, at)
			continue
		}
		if last = at; at.Before(month) {
			days = append(days, at)
		}
	}
	return append(drop, days[:max(0, len(days)-mostDays)]...)
}
