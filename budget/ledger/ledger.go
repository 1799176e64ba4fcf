package ledger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"time"

	"github.com/dpsql/dpsql/budget"
	"github.com/dpsql/dpsql/internal/base/dp"
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

// Head is what a data set's budget is. Everything but Epoch and the filter's order is fixed by its first opening, but for larger promises (Raise). People
// and Lifetime are the same in all heads of a ledger; with more than one, Lifetime is set.
type Head struct {
	Dataset  string         `json:"dataset"`
	People   string         `json:"people"` // data sets over the same people name the same
	Filter   *budget.Filter `json:"filter"`
	Window   string         `json:"window"`             // WindowDay ...; "": one window for ever
	Lifetime *Lifetime      `json:"lifetime,omitempty"` // nil: none, on purpose
	Epoch    string         `json:"epoch"`              // names the policy's text: stored releases answer within one epoch only
}

// The scopes of stored releases and of denials.
const (
	ScopeDataset = "data_set" // a release answers every analyst (whose rights the engine has checked)
	ScopeAnalyst = "analyst"  // a release answers the analyst who paid for it

	ScopeLifetime = "lifetime" // denials only: the lifetime does not hold this window
	ScopeRole     = "role"     // denials only: a role of the analyst
)

// Cache says how long and to whom stored releases answer. The zero Cache stores none.
type Cache struct {
	TTL   time.Duration
	Scope string
	Key   *Key // encrypts what is stored; nil: nothing. Releases under another key do not answer
}

// Options are what an opening may choose.
type Options struct {
	Cache Cache
	Now   func() time.Time // nil: time.Now
	Mark  string           // a new file is held against the mark beside this path too: of where the ledger may have been before; "": against its own alone

	Data []DataMark // of what is served

	Broken func(*BrokenRelease) // hears once of each stored release that was found broken when it was asked for; nil: nobody

	every int64     // records between two checkpoints; 0: checkpointEvery
	disk  spoolDisk // nil: osDisk

	TextKeys []*Key // encrypt statements' texts: the first one; each may decrypt. None: no text is kept
}

// Reservation is the charge of a statement's stage, fixed from its plan.
type Reservation struct {
	Payer
	Statement Hash    `json:"statement"` // of the canonical plan
	Price     float64 `json:"price"`     // the price tag, epsilon
	Events    Events  `json:"events"`    // what will be run
	Loss      dp.Loss `json:"loss"`      // the events' loss by the ledger's filter, or more

	Once  bool  `json:"-"` // it is not to be charged while the same statement is asked, nor if that was released: a release answers both
	Known int64 `json:"-"` // but for this one's, by its reservation, which the caller knows and which does not do

	Filter *budget.Filter `json:"-"` // that Loss was taken by; nil: the caller does not say

	Text string `json:"-"` // of the statement, for its analyst and the owner; kept encrypted, or not at all

	Enough float64 `json:"-"` // the least price of a release that would answer: what is asked or released at less is no reason to wait
}

// Release is what a commit stores: bytes that only the engine reads, under the key of everything that determines them.
type Release struct {
	Key      Hash
	Payload  []byte
	Family   Hash   // of releases from which other questions may be computed; zero: none
	Spool    *Spool // of a release of many groups what the payload has not; else nil
	External bool   // what was released is kept elsewhere: the record is all that is written
}

// MaxRelease limits a stored release, in bytes.
const MaxRelease = 64 << 20

// Stored is a release that answers again.
type Stored struct {
	Key           Hash
	Reservation   int64
	Analyst       string // who paid
	Price         float64
	Loss          dp.Loss
	Made, Expires time.Time
	Payload       []byte
	Spool         *Spool // nil: the payload is all
	Bytes         int64  // that a listed one takes on disk
}

// CorruptError names the first record that is not what was written.
type CorruptError struct {
	Seq    int64
	Reason string
}

// Error names the record.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("ledger: record %d is broken: %s. Nothing is served from it, and it is kept as it is. %s", e.Seq, e.Reason, restore)
}

// restore is what an owner does about a broken ledger.
const restore = "Bring back the newest backup (docs/operations.md, The ledger and its backup); nothing repairs it, for what it forgot could be spent twice"

// The ways in which an opening or a write is refused.
var (
	ErrInUse      = errors.New("ledger: the file is in use by another process (one dpsql owns a SQLite ledger)")
	ErrNotDurable = errors.New("ledger: it cannot be kept in the way that durable charges need")
	ErrMismatch   = errors.New("ledger: it belongs to another budget")
	ErrNotExist   = fmt.Errorf("ledger: there is no such file: %w", fs.ErrNotExist)
	ErrRolledBack = errors.New("ledger: it is older than its mark")
	ErrForeign    = errors.New("ledger: it is not a dpsql ledger")
	ErrClosed     = errors.New("ledger: closed")
	ErrBroken     = errors.New("ledger: stopped, since an earlier write may or may not be on disk; restart to read what is")
	ErrFrozen     = errors.New("ledger: frozen by the owner")
	ErrStopped    = errors.New("ledger: stopped after too many resource failures, until the owner looks")
	ErrPromise    = errors.New("ledger: its promise was made larger, and this server has not read the policy since")
	ErrOwner      = errors.New("ledger: opened for its owner, not to serve a data set")
	ErrNotOpen    = errors.New("ledger: no such outstanding reservation")
)
