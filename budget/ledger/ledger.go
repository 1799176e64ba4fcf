package ledger

import (
	"context"
	"iter"

	"github.com/dpsql/dpsql/budget"
)

// Ledger is what the engine spends through. SQLite is the one for a single proxy. All methods may be called at once.
type Ledger interface {
	// Filter is that of the window of now. Its order is fixed at the window's first charge, by the policy that is served then. Prices and losses must be its own.
	Filter() *budget.Filter
	// ReserveAll charges a statement's stages before its data is touched and returns their ids once the records are durable:
	// all of them, or none. ErrOrder says that the losses are of another order than the paying window's, an *InFlightError says that one is being asked elsewhere, a *Denied that the budget does not hold them together, ErrFrozen and ErrStopped that the analyst is stopped, ErrPromise that the
	// ledger's promise is no longer the one that is served; then nothing was written. A context that ends does not stop a write begun.
	ReserveAll(ctx context.Context, stages []Reservation) ([]int64, error)
	// Reserve is ReserveAll of one.
	Reserve(ctx context.Context, r Reservation) (int64, error)
	// Commit closes a reservation with its release, before the first byte of the answer goes out.
	Commit(ctx context.Context, id int64, r Release) error
	// NewSpool begins the spool of a release of many groups. It is Commit's to keep; the caller closes it.
	NewSpool(id int64, release Hash) (*Spool, error)
	// StoredBytes is what an analyst's stored releases take, and Room an error where the ledger's disk has none for so many bytes more.
	StoredBytes(analyst string) int64
	Room(bytes int64) error
	// Scratch is a folder for files without a name, beside the ledger.
	Scratch() string
	// Fail closes a reservation without a release. The charge stays, and the analyst's failures are counted; MaxFailures of FailResource in a window stop the analyst (ErrStopped), until Unfreeze.
	Fail(ctx context.Context, id int64, class string) error
	// Abandon closes reservations without a release, for a client that left: the charges stay.
	Abandon(ctx context.Context, ids []int64) error
	// Await returns when a reservation is closed in whatever way: what an *InFlightError of ReserveAll names.
	Await(ctx context.Context, id int64) error
	// Lookup finds the stored release for a key that this analyst may be given and that has not expired, made at the
	// highest price if there are several. To a frozen analyst nothing answers (ErrFrozen). Its spool is open, and the caller's to close.
	// A release that is not what was committed is from then on none, here and everywhere else (Options.Broken hears of it).
	Lookup(ctx context.Context, key Hash, analyst string) (*Stored, bool, error)
	// Related finds stored releases of families that this analyst may be given, the dearest first, of one price the latest, at most so many. It is as up to date as the last Lookup.
	Related(ctx context.Context, families []Hash, analyst string, most int) ([]Stored, error)
	// All finds the stored releases of a key that this analyst may be given, but for those with a spool: the dearest first, of one price the latest, at most 16. It is as up to date as the last Lookup.
	All(ctx context.Context, key Hash, analyst string) ([]Stored, error)
	// Releases lists what an analyst paid for and would be answered from, without the payloads, in the order in which it was made.
	Releases(analyst string) ([]Stored, error)
	// AllReleases lists those of everybody, for the owner.
	AllReleases() ([]Stored, error)
	// Charges lists what an analyst was charged for, the last ones, without a word of others.
	Charges(ctx context.Context, analyst string) ([]OwnCharge, error)
	// Balance tells what was spent and what is left in the window of now, for the data set, an analyst and the analyst's roles.
	Balance(p Payer) (Balance, error)
	// Accounts is the owner's view: all data sets, analysts and freezes.
	Accounts() (Accounts, error)
	// AccountsOf is Accounts with those of these payers of a data set.
	AccountsOf(dataset string, fits *budget.Filter, payers []Payer) (Accounts, error)
	// History tells how a data set's budget was spent, charge by charge.
	History(ctx context.Context, dataset string) ([]Spent, error)
	// Healthy is nil while charges can be written: else ErrClosed, ErrPromise, or ErrBroken after a write that may or may not be on disk.
	Healthy() error
	// Freeze stops an analyst ("": everybody) in all data sets from the next statement on, durably; Unfreeze lifts just
	// that freeze, and pardons the analyst's resource failures ("": everybody's). by says who did it. Both do nothing where nothing would change.
	Freeze(ctx context.Context, analyst, by string) error
	Unfreeze(ctx context.Context, analyst, by string) error
	// IsUnmarked reports whether no mark lay beside the ledger when it was opened.
	IsUnmarked() bool
	// IsNew reports whether its opening wrote the first record: nothing is spent in it.
	IsNew() bool
	// IsStopped reports whether the analyst had too many resource failures in a window, over all processes, and no pardon since.
	IsStopped(analyst string) bool
	// Grant gives an analyst, or a role, more of a data set's total in the window of now.
	Grant(ctx context.Context, g Grant) error
	// Raise records that a data set's budget or lifetime is now the larger one of this head; all else in it is as it was. Where it is the one that is served, it is served under it.
	Raise(ctx context.Context, wanted Head, by, reason string) error
	// SetHead goes on under another policy text, whose promise must be the ledger's as it is now, whoever raised it: stored releases of another
	// epoch no longer answer, what was spent stays. It writes nothing where the epoch is in force already.
	SetHead(ctx context.Context, wanted Head) error
	// SetData names the ledger in the data marks of what is served from now on. ErrOtherLedger says that one of them names another ledger; then none is changed.
	SetData(marks []DataMark) error
	// SetCache changes how long and to whom stored releases answer.
	SetCache(c Cache) error
	// Secret is the same for all processes over one ledger, and stays what it is, wherever the ledger is moved.
	Secret(ctx context.Context) ([]byte, error)
	// SetTextKeys changes Options.TextKeys.
	SetTextKeys(keys []*Key)
	// Statements lists a data set's charges with their texts, for its owner: a page of them, and After, or Before, of the next one; 0: there is none.
	Statements(ctx context.Context, dataset string, f StatementFilter) ([]StatementCharge, int64, error)
	// Records reads all records from the first, for owners and tests.
	Records(ctx context.Context) iter.Seq2[Record, error]
	// Verify reads everything again: chain, losses, admissions, releases. A *CorruptError names the first broken record; a *BrokenRelease a stored release, where all records are whole.
	Verify(ctx context.Context) error
	Close() error
}
