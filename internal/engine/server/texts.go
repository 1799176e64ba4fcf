package server

import (
	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/policy"
)

// besideOf is the path beside which the key of statements' texts lies.
func besideOf(opt Options) string {
	if opt.LedgerPath != "" {
		return opt.LedgerPath
	}
	return opt.Policy.Ledger.Beside
}

// TextKeys are the keys of statements' texts under a policy, for who does not serve it: cache.key, and that in the file beside the ledger, where there are such.
func TextKeys(p *policy.Policy, beside string) (keys []*ledger.Key, err error) {
	if k := cache(p).Key; k != nil {
		keys = append(keys, k)
	}
	k, err := ledger.TextKey(beside)
	if k != nil {
		keys = append(keys, k)
	}
	return keys, err
}

// textKeys is TextKeys of a server, which makes the file's key where there would be none.
func (e *Engine) textKeys(p *policy.Policy) (keys []*ledger.Key, made bool, err error) {
	if p.Cache.Key != "" {
		keys, err = TextKeys(p, e.start.beside)
		return keys, false, err
	}
	k, made, err := ledger.MakeTextKey(e.start.beside)
	return []*ledger.Key{k}, made, err
}
