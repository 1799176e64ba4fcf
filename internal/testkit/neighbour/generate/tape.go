package generate

// Tape is a list of choices: played as it was recorded, from its end on simplest ones. A statement is made of one, and shrunk by
// making the tape shorter and its numbers less.
type Tape struct {
	Choices []int
	at      int
	more    Source // for what is not there yet; nil: 0
}

// Record is a tape that is made while it is played.
func Record(draw Source) *Tape { return &Tape{more: draw} }

// Draw is a Source.
func (t *Tape) Draw(n int) int {
	v := 0
	switch {
	case t.at < len(t.Choices):
		v = min(t.Choices[t.at], n-1)
	case t.more != nil:
		v = t.more(n)
		t.Choices = append(t.Choices, v)
	}
	t.at++
	return v
}

// Shrink looks for a simpler tape for which fails still holds, asking at most tries times. Each step takes parts out, or makes
// numbers less; it ends where no step is left.
func Shrink(choices []int, tries int, fails func(*Tape) bool) []int {
	best := choices
	try := func(c []int) bool {
		if tries <= 0 {
			return false
		}
		tries--
		if !fails(&Tape{Choices: append([]int(nil), c...)}) {
			return false
		}
		best = c
		return true
	}
	for again := true; again && tries > 0; {
		again = false
		for size := len(best); size >= 1; size /= 2 {
			for from := 0; from+size <= len(best); {
				if try(append(append([]int(nil), best[:from]...), best[from+size:]...)) {
					again = true
				} else {
					from += max(1, size/2)
				}
			}
		}
		for i := 0; i < len(best); i++ {
			for _, less := range []int{0, best[i] / 2, best[i] - 1} {
				if less < 0 || less >= best[i] {
					continue
				}
				c := append([]int(nil), best...)
				c[i] = less
				if try(c) {
					again = true
					break
				}
			}
		}
	}
	return best
}
