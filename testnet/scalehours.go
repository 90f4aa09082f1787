package testnet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"p2pnode/testnet/sim"
)

// Hours is a crowd that ran for hours of virtual time at a wake a minute of each.
type Hours struct {
	Complete  bool    `json:"complete"` // false: interrupted, after Hours
	Hours     float64 `json:"hours"`    // virtual
	Nodes     int     `json:"nodes"`
	Dimension int     `json:"dimension"`
	Setup     float64 `json:"setup_seconds"`
	Seconds   float64 `json:"seconds"`     // without setting up
	Processor float64 `json:"cpu_seconds"` // likewise; 0: not known
	Wakes     int     `json:"wakes"`
	Sent      int     `json:"messages_sent"` // one for each receiver
	Lost      int     `json:"messages_lost"` // since the receiver was away
	Left      int     `json:"times_away"`    // how often somebody leaves, in all hours
	Peak      float64 `json:"peak_rss_bytes"`
}

// mostHours is a week.
const mostHours = 7 * 24

// ValidateHours is [ScaleOptions.Validate] for [MeasureHours].
func (o *ScaleOptions) ValidateHours(hours int) error {
	if hours < 1 || hours > mostHours {
		return fmt.Errorf("testnet: hours %d: choose from 1 to %d", hours, mostHours)
	}
	if len(o.Nodes) > 1 || len(o.Dimension) > 1 {
		return errors.New("testnet: hours are of one size: name one number of nodes and one dimension")
	}
	return o.Validate()
}

// Phone weather by the hour: how often bursts come, within how long those who leave in one
// do so, and how long they are away.
const (
	burstEvery  = 30 * time.Minute
	burstSpread = 5 * time.Minute
	burstDown   = 20 * time.Minute
)

// MeasureHours runs one size for hours of virtual time. When ctx ends it returns how far it
// came, and the reason.
func MeasureHours(ctx context.Context, o ScaleOptions, hours int) (h Hours, err error) {
	h = Hours{Nodes: o.Nodes[0], Dimension: o.Dimension[0]}
	began, until := time.Now(), time.Duration(hours)*time.Hour
	config, err := sim.Crowd{
		Agents: h.Nodes, Dimension: h.Dimension, Neighbours: o.Neighbours, Records: o.Records, Private: o.Private, Seed: o.Seed,
	}.Config()
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return h, err
	}
	config.WakeMean, config.Until = time.Minute, until
	if o.Weather {
		config.Away = sim.Weather(h.Nodes, burstEvery, burstSpread, burstDown, until, o.Seed)
		h.Left = len(config.Away)
	}
	running, err := sim.Start(config)
	if err != nil {
		return h, err
	}
	h.Setup = time.Since(began).Seconds()
	err = h.advance(ctx, running, hours, o.Progress)
	h.Complete = err == nil
	return h, err
}

// advance goes on minute by minute.
func (h *Hours) advance(ctx context.Context, r *sim.Running, hours int, progress func(done, all int)) error {
	began, processor := time.Now(), ProcessorTime()
	for minute := range 60 * hours {
		if ctx.Err() != nil {
			break
		}
		if progress != nil {
			progress(minute, 60*hours)
		}
		if err := r.Advance(time.Duration(minute+1) * time.Minute); err != nil {
			return err
		}
		h.Hours = float64(minute+1) / 60
	}
	h.Seconds, h.Processor = time.Since(began).Seconds(), (ProcessorTime() - processor).Seconds()
	h.Wakes = r.Wakes()
	h.Sent, h.Lost = r.Messages()
	h.Peak = PeakMemory()
	return ctx.Err()
}

// Write writes the result for people.
func (h Hours) Write(w io.Writer) error {
	rate := func(seconds float64) float64 { return float64(h.Wakes) / max(seconds, 1e-9) }
	text := fmt.Sprintf("%d agents, p = %d, %.4g virtual hours at a wake a minute.\n\n", h.Nodes, h.Dimension, h.Hours)
	text += fmt.Sprintf("set up    %.1f s\ntime      %.1f s", h.Setup, h.Seconds)
	if h.Processor > 0 {
		text += fmt.Sprintf(", %.1f s of processors", h.Processor)
	}
	text += fmt.Sprintf("\nwakes     %d, %.0f wakes/s", h.Wakes, rate(h.Seconds))
	if h.Processor > 0 {
		text += fmt.Sprintf(", %.0f per CPU second", rate(h.Processor))
	}
	text += fmt.Sprintf("\nmessages  %d sent, %d lost (%s)\naway      %d times\n", h.Sent, h.Lost, percent(float64(h.Lost)/float64(max(1, h.Sent))), h.Left)
	if h.Peak > 0 {
		text += fmt.Sprintf("memory    %.2f GB at the peak\n", h.Peak/1e9)
	}
	if !h.Complete {
		text += "\nINTERRUPTED: hours are missing.\n"
	}
	_, err := io.WriteString(w, text)
	return err
}

// WriteJSON writes the result as one object.
func (h Hours) WriteJSON(w io.Writer) error {
	return WriteJSON(w, h)
}
