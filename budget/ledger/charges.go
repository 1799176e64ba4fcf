package ledger

import "context"

// Charges lists an analyst's own charges of the served data set, the last 10,000 of them, oldest first.
//
// Proof: claim: what it gives is a function of the analyst's own statements and of the servers' deaths. A row has fields of one record whose analyst is this one, of the records that closed it, and sums and
// counts over such rows alone; the record's number, which counts everybody's, is in none. Its text is the record's own, which is bound to the analyst as it is encrypted (textBinding), so that one of another analyst's in its place cannot be read. The order is its window's: that of the policy which the server of the window's first charge had read, whoever's that was. Between two servers' policies it may so tell
// which one was asked first, as balances, which everybody sees, tell that something was asked.
func (l *book) Charges(ctx context.Context, analyst string) ([]OwnCharge, error) {
	if err := l.forServing(); err != nil {
		return nil, err
	}
	if err := l.fresh(); err != nil {
		return nil, err
	}
	o := &l.own
	o.mu.Lock()
	defer o.mu.Unlock()
	for more := true; more; {
		var err error
		if more, err = l.readOwn(ctx); err != nil {
			return nil, err
		}
	}
	p := o.by[analyst]
	if p == nil {
		return nil, nil
	}
	charges := p.charges[max(0, len(p.charges)-ownMost):]
	out := make([]OwnCharge, len(charges))
	l.mu.Lock()
	keys, dataset := l.opt.TextKeys, l.service.dataset.head.Dataset
	l.mu.Unlock()
	for i, c := range charges {
		out[i] = *c
		out[i].sealed = nil
		if text, err := c.sealed.open(keys, dataset, analyst, c.Statement); err == nil {
			out[i].Text = text
		}
	}
	return out, nil
}

// readOwn reads on, and says whether there is more. No batch is being written meanwhile: what the state holds is in the store.
func (l *book) readOwn(ctx context.Context) (more bool, err error) {
	unlock, err := l.reading(ctx)
	if err != nil {
		return false, err
	}
	defer unlock()
	l.mu.Lock()
	end, head := l.state.seq, l.service.dataset.head
	l.mu.Unlock()
	to := min(end, l.own.seq+ownChunk)
	for one, err := range l.store.span(l.own.seq, to) {
		if err != nil {
			return false, broken(l.own.seq+1, err)
		}
		if err := l.own.add(one, head); err != nil {
			return false, &CorruptError{Seq: one.seq, Reason: err.Error()}
		}
	}
	if l.own.seq < to {
		return false, &CorruptError{Seq: l.own.seq + 1, Reason: "it is missing"}
	}
	return to < end, nil
}
