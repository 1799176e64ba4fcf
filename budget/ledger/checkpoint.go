package ledger

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/internal/base/dp"
)

// checkpointEvery is how many records lie between two checkpoints; a start reads about so many at most.
const checkpointEvery = 5_000

// sums is a state as bytes: equal for equal states. Stored releases are in segments, without those that had expired, which one process may have forgotten and another not.
type sums struct {
	Version     int               `json:"version"`
	Seq         int64             `json:"seq"`
	Last        Hash              `json:"last"`
	Clock       time.Time         `json:"clock"`
	Current     string            `json:"current,omitempty"`
	Datasets    []datasetSums     `json:"data_sets"`
	Outstanding []outstandingSums `json:"outstanding"`
	Stored      []segment         `json:"stored"` // of earlier checkpoints
	Frozen      []FrozenAnalyst   `json:"frozen"`
	Stopped     []StoppedAnalyst  `json:"stopped,omitempty"`
}

type datasetSums struct {
	Head     *Head                  `json:"head"`
	Opened   bool                   `json:"opened"`
	Epoch    string                 `json:"epoch"`
	Windows  int                    `json:"windows"`
	Start    time.Time              `json:"start"`
	All      accountSums            `json:"all"`
	Analysts map[string]accountSums `json:"analysts"`
	Past     []eraSums              `json:"past,omitempty"`
	Grants   map[string]grantSums   `json:"grants,omitempty"`

	Roles      map[string]accountSums `json:"roles,omitempty"`
	RoleGrants map[string]grantSums   `json:"role_grants,omitempty"`
	Began      *budget.Filter         `json:"began,omitempty"`
	Failed     map[string]failedSums  `json:"resource_failures,omitempty"`
}

type accountSums struct {
	Spent      dp.Loss `json:"spent"`
	Statements int64   `json:"statements"`
	Failures   int64   `json:"failures"`
	Share      float64 `json:"quota"`
	Quota      float64 `json:"quota_epsilon,omitempty"`
}

type failedSums struct {
	Start time.Time `json:"start"`
	N     int64     `json:"n"`
}

type eraSums struct {
	Epsilon float64 `json:"epsilon"`
	Delta   float64 `json:"delta"`
	Windows int     `json:"windows"`
}

type grantSums struct {
	Start   time.Time `json:"start"`
	Epsilon float64   `json:"epsilon"`
}

type outstandingSums struct {
	Seq    int64     `json:"seq"`
	Charge *Charge   `json:"charge"`
	Of     string    `json:"of"`
	Start  time.Time `json:"start"`
	Epoch  string    `json:"epoch"`
	Owner  string    `json:"owner"`
}

func (a account) sums() accountSums {
	return accountSums{a.spent, a.statements, a.failures, a.quota.share, a.quota.epsilon}
}

func (a accountSums) account() account {
	return account{a.Spent, a.Statements, a.Failures, quota{a.Quota, a.Share}}
}

// sums gives a state as bytes; at is the time of the record that will name them.
func (s *state) sums(at time.Time) ([]byte, error) {
	out := sums{Version: s.version, Seq: s.seq, Last: s.last, Clock: s.clock}
	if s.current != nil {
		out.Current = s.current.head.Dataset
	}
	for _, d := range s.datasets {
		one := datasetSums{Head: d.head, Opened: d.opened, Epoch: d.epoch, Windows: d.windows, Start: d.start, All: d.all.sums(), Analysts: map[string]accountSums{}, Began: d.began}
		for who, a := range d.accounts {
			if who.role {
				put(&one.Roles, who.name, a.sums())
			} else {
				one.Analysts[who.name] = a.sums()
			}
		}
		for _, e := range d.past {
			one.Past = append(one.Past, eraSums{e.epsilon, e.delta, e.windows})
		}
		for who, g := range d.grants {
			if who.role {
				put(&one.RoleGrants, who.name, grantSums{g.start, g.epsilon})
			} else {
				put(&one.Grants, who.name, grantSums{g.start, g.epsilon})
			}
		}
		for who, f := range d.failed {
			put(&one.Failed, who, failedSums{f.start, f.n})
		}
		out.Datasets = append(out.Datasets, one)
	}
	for _, id := range s.open() {
		c := s.outstanding[id]
		out.Outstanding = append(out.Outstanding, outstandingSums{id, c.Charge, c.of.head.Dataset, c.start, c.epoch, c.owner})
	}
	out.Stored = s.liveSegments(at)
	for _, f := range s.frozen {
		out.Frozen = append(out.Frozen, f)
	}
	slices.SortFunc(out.Frozen, func(a, b FrozenAnalyst) int { return strings.Compare(a.Analyst, b.Analyst) })
	out.Stopped = s.stops()
	return json.Marshal(out)
}

// decodeState reads what state.sums wrote.
func decodeState(text []byte) (*state, error) {
	var in sums
	if err := strict(text, &in); err != nil {
		return nil, err
	}
	s := newState()
	s.version, s.seq, s.last, s.clock = in.Version, in.Seq, in.Last, in.Clock
	for _, d := range in.Datasets {
		if d.Head == nil {
			return nil, fmt.Errorf("sums of a data set without a head")
		}
		if err := d.Head.validate(); err != nil {
			return nil, err
		}
		if d.Began != nil {
			if err := errors.Join(d.Began.Validate(), d.Head.Filter.Above(d.Began)); err != nil {
				return nil, err
			}
		}
		one := &dataset{head: d.Head, opened: d.Opened, epoch: d.Epoch, windows: d.Windows, start: d.Start, all: d.All.account(), began: d.Began}
		if d.Windows > 0 {
			one.accounts = map[payee]*account{}
		}
		for role, list := range map[bool]map[string]accountSums{false: d.Analysts, true: d.Roles} {
			for name, a := range list {
				of := a.account()
				put(&one.accounts, payee{role, name}, &of)
			}
		}
		for _, e := range d.Past {
			one.past = append(one.past, era{e.Epsilon, e.Delta, e.Windows})
		}
		for role, list := range map[bool]map[string]grantSums{false: d.Grants, true: d.RoleGrants} {
			for name, g := range list {
				put(&one.grants, payee{role, name}, granted{g.Start, g.Epsilon})
			}
		}
		for who, f := range d.Failed {
			put(&one.failed, who, failed{f.Start, f.N})
		}
		s.datasets = append(s.datasets, one)
	}
	s.current = s.find(in.Current)
	for _, c := range in.Outstanding {
		of := s.find(c.Of)
		if of == nil || c.Charge == nil {
			return nil, fmt.Errorf("sums of a reservation without a data set")
		}
		s.outstanding[c.Seq] = &openCharge{Charge: c.Charge, of: of, start: c.Start, epoch: c.Epoch, owner: c.Owner}
	}
	s.segments = in.Stored
	for _, f := range in.Frozen {
		s.frozen[f.Analyst] = f
	}
	for _, a := range in.Stopped {
		put(&s.stopped, a.Analyst, a)
	}
	return s, nil
}

// checkpointed is the state before a checkpoint's record, if the sums are those that it names and end where it begins. read gives what lies beside a checkpoint's record.
func checkpointed(one row, text []byte, read func(seq int64) ([]byte, error)) (*state, error) {
	if sha256.Sum256(one.body) != one.hash {
		return nil, fmt.Errorf("its text does not have its hash")
	}
	r, err := decodeRecord(one.body)
	if err != nil {
		return nil, err
	}
	if r.Checkpoint == nil || sha256.Sum256(text) != r.Checkpoint.Sums || len(text) != r.Checkpoint.Bytes {
		return nil, fmt.Errorf("the sums beside it are not those that it names")
	}
	st, err := decodeState(text)
	if err != nil {
		return nil, err
	}
	if st.seq != r.Seq-1 || st.last != r.Previous {
		return nil, fmt.Errorf("the sums beside it are of record %d", st.seq)
	}
	all := st.segments
	if r.Checkpoint.Stored != nil {
		all = append(slices.Clip(all), segment{r.Seq, *r.Checkpoint.Stored})
	}
	bytes := 0
	for _, g := range all {
		bytes += g.Bytes
	}
	st.releases.stored = make(map[Hash][]storedRef, bytes/leastRef)
	for _, g := range all {
		text, err := read(g.Seq)
		if err == nil {
			err = st.addSegment(g, text)
		}
		if err != nil {
			return nil, err
		}
	}
	return st, nil
}

// holds compares what a checkpoint names with the records before it.
func (s *state) holds(r *Record) error {
	text, err := s.sums(r.Time)
	if err != nil {
		return err
	}
	c := r.Checkpoint
	if len(text) != c.Bytes || sha256.Sum256(text) != c.Sums {
		return fmt.Errorf("its sums are not those of the records before it")
	}
	refs, _ := s.recently(r.Time)
	if _, stored := segmentOf(refs); (stored == nil) != (c.Stored == nil) || stored != nil && !stored.isSame(*c.Stored) {
		return fmt.Errorf("its stored releases are not those of the records before it")
	}
	return nil
}
