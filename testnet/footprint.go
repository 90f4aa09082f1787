package testnet

import (
	"fmt"
	"os"
)

// Footprint is what one daemon used, or the mean of several.
type Footprint struct {
	RSS float64 `json:"rss_bytes"`   // memory at its end, with what is shared with others; 0: not known
	PSS float64 `json:"pss_bytes"`   // its share of that: of a page that k processes map, the k-th part
	CPU float64 `json:"cpu_seconds"` // user and system, from its start to its end
}

// memoryOf reads what the kernel knows about a process; it is zero where the kernel
// does not say.
func memoryOf(pid int) Footprint {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid)) // it may be no system with such files
	return Footprint{RSS: 1024 * stated(text, "Rss"), PSS: 1024 * stated(text, "Pss")}
}

func meanFootprint(all []Footprint) *Footprint {
	sum := new(Footprint)
	n := float64(len(all))
	for _, f := range all {
		sum.RSS += f.RSS / n
		sum.PSS += f.PSS / n
		sum.CPU += f.CPU / n
	}
	return sum
}

// footprint is the mean over all trials; nil if no node was a process.
func (r *Result) footprint() *Footprint {
	var all []Footprint
	for i := range r.Rounds {
		for k := range r.Rounds[i].Trials {
			if f := r.Rounds[i].Trials[k].Processes; f != nil {
				all = append(all, *f)
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	return meanFootprint(all)
}

// processNotes say what the daemons used, and how the phones among them did.
func (r *Result) processNotes() []string {
	f := r.footprint()
	if f == nil {
		return nil
	}
	memory := ""
	if f.RSS > 0 {
		memory = fmt.Sprintf("%s resident (%s with its part of what is shared) and ", byteText(f.RSS), byteText(f.PSS))
	}
	notes := []string{fmt.Sprintf("Each daemon took on average %s%.1f s of processor time.", memory, f.CPU)}
	for _, m := range []Method{Broadcast, Private} {
		if r.Phones == 0 || len(r.Pairs(m)) == 0 {
			continue
		}
		phones, others := r.split(m)
		notes = append(notes, fmt.Sprintf("%s: the %d phones have a mean error of %s (alone %s), the %d others of %s (alone %s).",
			methodLabel(m), r.Phones, r.errorText(mean(phones.with)), r.errorText(mean(phones.alone)), r.nodes()-r.Phones,
			r.errorText(mean(others.with)), r.errorText(mean(others.alone))))
	}
	return notes
}

// group holds the errors of some people.
type group struct{ alone, with []float64 }

// split separates the phones from the others.
func (r *Result) split(m Method) (phones, others group) {
	for i := range r.Rounds {
		alone, with := r.Rounds[i].trial(Alone), r.Rounds[i].trial(m)
		if alone == nil || with == nil {
			continue
		}
		first := len(alone.Errors) - r.Phones
		others.alone, others.with = append(others.alone, alone.Errors[:first]...), append(others.with, with.Errors[:first]...)
		phones.alone, phones.with = append(phones.alone, alone.Errors[first:]...), append(phones.with, with.Errors[first:]...)
	}
	return phones, others
}
