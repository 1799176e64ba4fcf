package policy

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

var update = flag.Bool("update", false, "write docs/configuration.md anew")

const (
	repository       = "../.."
	configurationDoc = repository + "/docs/configuration.md"
)

// beyond names, for each limit, the test that goes beyond it.
var beyond = map[string]string{
	"message":              "proxy/robust_test.go TestLongMessages",
	"sessions":             "proxy/startup_test.go TestRefusedLogins",
	"sessions_per_analyst": "proxy/limits_test.go TestSessionsPerUser",
	"prepared_statements":  "proxy/robust_test.go TestLimits",
	"portals":              "proxy/robust_test.go TestLimits",
	"statement_memory":     "proxy/limits_test.go TestHeldStatements",
	"answer_memory":        "proxy/limits_test.go TestPortalNeverRead",
	"all_answer_memory":    "proxy/answers_test.go TestAnswersOfAllSessions",
	"waiting_logins":       "proxy/limits_test.go TestPreAuthLimits",
	"login_time":           "proxy/robust_test.go TestLoginTimeout",
	"idle_time":            "proxy/limits_test.go TestIdleTimeout",
	"write_time":           "proxy/robust_test.go TestSlowReader",
	"statement_time":       "internal/engine/session/failures_test.go TestFailuresKeepTheCharge",
	"stop_time":            "proxy/robust_test.go TestStop",
	"release_groups":       "internal/engine/session/limits_test.go TestReleaseGroups",
	"flow_memory":          "internal/engine/flow_memory_test.go TestFlowMemory",
	"release_bytes":        "internal/engine/session/limits_test.go TestReleaseBytes",
	"stored_bytes":         "internal/engine/session/stored_limit_test.go TestAttack37Storage",
	"spool_groups":         "internal/engine/spool_test.go TestSpooledAnswers",
	"finishing_memory":     "internal/engine/spool_test.go TestFinishingMemory",
	"public_rows":          "internal/engine/session/limits_test.go TestPublicRows",
	"training_memory":      "internal/engine/model/train_spill_test.go TestTrainSpilled",
	"training_disk":        "internal/engine/model/train_spill_test.go TestTrainSpilled",
	"statements_at_once":   "internal/engine/session/limits_test.go TestStatementsAtOnce",
	"backend_connections":  "internal/backend/postgres/session_test.go TestPoolIsBounded",
	"statement text":       "rewrite/pgsyntax/fuzz_test.go TestLimits",
	"tokens":               "rewrite/pgsyntax/memory_test.go TestCaps",
	"listed":               "rewrite/pgsyntax/memory_test.go TestCaps",
	"statements":           "rewrite/pgsyntax/memory_test.go TestCaps",
	"parameters":           "rewrite/pgsyntax/fuzz_test.go TestLimits",
	"nesting":              "rewrite/pgsyntax/fuzz_test.go TestLimits",
	"depth":                "rewrite/pgsyntax/fuzz_test.go TestLimits",
	"operators":            "sensitivity/divide/many_test.go TestTooManyOperators",
	"aggregates":           "sensitivity/divide/many_test.go TestTooManyAggregates",
	"max_public_groups":    "internal/engine/session/limits_test.go TestMaxPublicGroups",
}

// settings are what analysts may SET; internal/engine's TestDocumentedSettings holds them against the engine's own list.
const settings = `| setting | at the start | values | what it does |
|---|---|---|---|
| ''dpsql.price'' | ''query.price'', at most the analyst's ''max_query_price'' | from ''query.price''/1000 (else 22023) to ''max_query_price'' (else PV008) | price of the next statements |
| ''dpsql.mechanism'' | ''query.mechanism'' | ''auto'', ''laplace'', ''gaussian'' | which noise |
| ''dpsql.max_groups'' | ''query.max_groups'' | 1 to ''query.max_public_groups'' (else 22023), or ''auto'', which finds one from 1 to 64 | groups of one person that count, where keys do not bound them |
| ''dpsql.clip'' | ''auto'' | 1 to 4294967296 (else 22023), or ''auto'' | rows of one person that count in one group, at most the policy's number. ''auto'': that number, or one that is chosen |
| ''dpsql.bounding'' | ''query.bounding'' | ''auto'', ''l2'', ''linf'', ''elastic'', ''truncate'', ''weighted'', ''flow'' | how a person's part is bounded: see [policy.md](policy.md#querybounding). ''weighted'' counts [joined rows](joins.md) by weights, which is another number than count(*) |
| ''dpsql.target_error'' | ''off'' | ''off'', ''12.5'', ''5%'' | the 95% error that the next statements should have at most, as a number or share, at the least price up to ''dpsql.price'' ([below](#asking-for-an-error)) |
| ''dpsql.expected_size'' | ''unknown'' | 1 to 1099511627776 (else 22023), or ''unknown'' | about how many rows a group has, for EXPLAIN's intervals and ''dpsql.target_error'' |
| ''dpsql.fresh'' | ''off'' | ''on'', ''off'' | stored releases do not answer the next statements: each is asked anew, with new noise, and charged ([below](#asking-anew)) |
| ''dpsql.on_low_count'' | ''keep'' | ''null'', ''drop'', ''keep'' | what is shown of a count, sum or average that is less than its 95% error ([below](#what-is-shown)) |
| ''dpsql.rounding'' | ''error'' | ''error'', ''off'' | counts, sums, averages and statistics are rounded to what their 95% error leaves significant ([below](#what-is-shown)) |
| ''dpsql.simultaneous'' | ''off'' | ''on'', ''off'' | ''dp_error'', ''dp_low'' and ''dp_high'' of an aggregate hold in all rows of an answer at once with 95 % ([below](#what-is-shown)) |
| ''dpsql.consistent'' | ''on'' | ''on'', ''nonnegative'', ''off'' | counts and sums of ''ROLLUP'', ''CUBE'' and ''GROUPING SETS'' are adjusted after the noise, so that groups add up to their totals ([bounds.md](bounds.md#totals-that-add-up)) |
| ''dpsql.notices'' | ''off''; ''brief'' for psql | ''off'', ''brief'', ''full'' | a NOTICE with each answer: what was spent and is left, and the 95% error. ''full'' adds the bounds and what each accountant takes |
| ''dpsql.progress'' | ''off'' | ''on'', ''off'' | NOTICEs while a statement runs for over 2 seconds: elapsed seconds, the step and the whole charge ([why it is off](threat-model.md#time-and-limits)) |
`

const aiming = `
## Asking for an error

''SET dpsql.target_error = '5%';'', or ''EXPLAIN (TARGET_ERROR '5%', EXPECTED_SIZE 1000) ...'', asks for an error.
''dpsql.price'' is then the most that a statement may cost:

- A stored release that errs no more answers, free. It may be of the same statement, or of another question from which
  this one is computed ([what is free](budget.md#what-is-free)), whatever its bounds.
- Else dpsql finds the least price that should give the error, and charges it.
- If that price is above ''dpsql.price'', the statement is refused (PV008), and nothing is spent. The hint has the price
  as a setting, up to ''max_query_price''.

EXPLAIN tells the same price, and the error that it should give.

For a number, and counts and sums with the policy's bounds, nothing more has to be known: their noise is as wide whatever
the group. A share of the value, and averages and statistics, need the size of a group, and private rows may not tell
it. The first of these that is known counts:

1. An earlier release of the same statement. It tells the group where a count or sum is largest, and an average where
   its count is. What is asked is then a top-up of that release, or a new one where the [data may have
   changed](budget.md#changing-data). Without one, a release of another question from which this one is computed tells
   it in the same way, and its chosen bounds. What is asked is then a new release.
2. ''dpsql.expected_size''. A share of a sum or average is taken of the least that the range allows. So it is refused
   where the range holds 0. The error of an average is the widest that it has anywhere in its range.
3. The policy's ''population'', spread evenly over public groups, where nothing is filtered. With people of several
   kinds it is that of the kind whose rows they are.

Each output column that is an aggregate itself has the target. What is computed from aggregates has none. Each release
of a statement (a grouping set, a subquery) has its own least price, and their sum is at most ''max_query_price''.
These are refused (PV019):

- statements for which such a size is not known
- order statistics, whose error depends on where the values are
- releases without a column of their own (what a condition compares with)
- bounds that are still to be chosen, and ''dpsql.clip'', of which nobody knows what it cuts: ask those once first.

An earlier release may have chosen bounds, or groups that are not public, with ten times as much noise as the new
price gives. These are chosen anew. The statement is asked again as a whole, at the whole price, since a top-up would
keep them.

The bound of rows that are joined off the unit by measured frequencies shrinks as the price grows. An earlier release
of the statement tells what the same frequencies should give at the new price. The less the earlier price was, the
less it tells of them, and the more cautious the expectation is. The error is mostly half to all of the target. At ten
times the earlier price it may be a quarter.

Bounds that are chosen anew may end higher than before. So dpsql pays for bounds that are four candidates higher, which
is about four times as high. Most answers err less than the target then. Where a few people have much of the rows, more
miss it.

If a new release errs by more than the stored one, the stored one is shown, and kept at the new price. So it is where
stored releases are of the same data. On PostgreSQL without [''data_version''](policy.md#data_version) the data may have
changed, so the new one is shown.

The error is that of the whole interval: noise, and what chosen bounds take away. It is only as good as the size. A
group that proves to be smaller has a larger error. A warning says where an answer misses its target, with the error
that it has. Then a repeat goes by the release, and costs what is missing. Where bounds are chosen, a repeat is free
and as exact as before. A smaller target asks anew there.

## Asking anew

Under ''dpsql.fresh'' a statement's release is stored beside the older ones. A later repeat gets the dearest of them,
and the newest of equally dear ones. ''dpsql.fresh'' does not go with ''dpsql.target_error''.

`

const showing = `
## What is shown

Noise on small numbers draws bars where there are none. ''dpsql.on_low_count'' and ''dpsql.rounding'' change how an
answer's values are shown, from the released values and their ''dp_error'' alone. What is released, stored and charged
is the same. So ''SET dpsql.rounding = off'' gives all digits back, free.

- ''dpsql.on_low_count'' is for output columns that are a count, sum, average or statistic (''stddev'', ''corr'') themselves,
  from derived tables and WITH too.
- ''dpsql.rounding'' is for these, and for numbers that are computed from them: ''sum(a) / count(*)'', ''round(avg(x), 2)'',
  ''count(*) - 10''. A column of type ''numeric(p, s)'' keeps its s places. Texts stay as they are.
- A computed number whose interval is NULL is NULL too, with a warning, under all settings: ''sum(a) / count(*)'' where
  the count may be 0. So ''coalesce(sum(x), 0)'' is NULL where nothing can be said of the sum. Where dpsql knows no rule
  for the interval, the number stays as it is, and ''dp_error'' of it is refused or NULL. These are ''mode'', scalar
  subqueries, most windows (''lag'', ''rank''), and ''power'' with an exponent below 0 or that is no constant.
- Maxima, medians and the like are not rounded, nor is what is computed from them. Columns under DISTINCT or of a
  UNION stay as they are. ''EXPLAIN'' names the columns that are changed (''Shown''), and aggregates that are not
  (''Shown as released''). ''dpsql.last'' tells what was done.
- An interval holds with 95 % for each row by itself. Of 100 rows about five miss. Under ''SET dpsql.simultaneous = on''
  all rows of an answer hold at once with 95 %. Each of n groups then has its interval at 1 - 0.05/n. Of 100 groups it
  is 1.8 times as wide with Gaussian noise, 2.5 times with Laplace noise.
- HAVING, ''ORDER BY ... LIMIT'', DISTINCT ON or a condition may choose rows by noisy numbers. Then intervals are of
  this kind without the setting, since the largest of many noisy numbers is likely to have been raised by its noise.
  The NOTICE and EXPLAIN say so. FILTER, CASE, ''min'', ''max'' and windows that choose values by noisy numbers count too,
  and so does ''dpsql.on_low_count''.
- Of the first rows by an aggregate the intervals hold for all groups that may be among them, by what was released.
  These are few where groups lie further apart than four half-widths, and all of them where noise is larger than the
  differences. Where the number of groups is known, ''dpsql.target_error'' and EXPLAIN go by them. It is known of public
  groups, and of those that an earlier answer has.
- Numbers of grouping sets that are adjusted to add up are not rounded, and a count among them may be below 0. See
  [bounds.md](bounds.md#totals-that-add-up).
- The settings come last: HAVING, ORDER BY, LIMIT, windows, roll-ups, ''dp_error'', ''dp_low'' and ''dp_high'' see the
  released values. So a LIMIT counts rows that ''drop'' leaves out.
- ''ORDER BY'' of an output column puts computed numbers without an interval where its NULLs stand. Values that ''null''
  hides stand there too where NULLS FIRST or NULLS LAST is written. Else their released values order them.
- ''null'' and ''drop'' hide a value v with 95% error e where |v| < e, or where nothing can be said of e. ''null'' shows NULL.
  ''drop'' leaves the group's row out if one such column is hidden. An average whose interval is its whole range is NULL
  in any case, and ''drop'' leaves its row out too. A row without GROUP BY stays, with NULL. What is hidden is small, or
  near 0. It is not nothing, and sums over what is shown are too small by it: ask for the sum.
- ''rounding = error'' rounds to the power of ten at or next below half of the 95% error on its nearer side, which is
  about a standard deviation. So one or two digits of the error are left, as results of measurements are given (JCGM
  100:2008, 7.2.6). For example, 38024 with error 20 is 38020, with error 5 it stays, and 3.14159 with error 0.05 is
  3.14. Where that would leave the interval, as at an end of a range, a value has up to three more digits.
- Beside a rounded value, ''dp_error'' has three digits, rounded up. ''dp_low'' and ''dp_high'' end at the last digit of
  the value and are rounded outward. So a shown interval is never narrower than the released one. Arithmetic over them
  uses all digits.
- An average of intervals keeps whole days, hours, minutes or seconds. ''dp_error'', ''dp_low'' and ''dp_high'' of it are
  in seconds.

`

// last is what dpsql.last tells; internal/engine/session's TestDocumentedTables holds it against the table.
const last = `
## The last answer

''SELECT * FROM dpsql.last'' tells about the session's last SELECT from tables, a row a measure of EXPLAIN (VERBOSE). It
has no rows if that SELECT failed or released nothing. All of it is public or was released.

| column of dpsql.last | type | what it tells |
|---|---|---|
| ''release'' | bigint | the number of the statement's release, as in EXPLAIN (VERBOSE): 1 where there is one |
| ''measure'' | bigint | its number, as in EXPLAIN (VERBOSE) |
| ''kind'' | text | ''rows'', ''values'' (rows with a value), ''weighted rows'', ''units'' (people), ''sum'', ''centred sum'' (of distances from a [centre](bounds.md#a-range-and-a-chosen-bound)) |
| ''bound'' | text | ''declared'', ''chosen'', ''chosen norm'' (of a person's vector), or ''none, so that only the rank is known'' (''min'' and ''max'' without a range). An [end of the candidates](bounds.md#where-candidates-end) is named |
| ''clip'' | double precision | what one person counts for in one group at most, in the measure's own units. For a norm, over all groups |
| ''groups'' | bigint | groups of one person that count. NULL beside a norm |
| ''noise'' | text | ''laplace'', ''gaussian'', ''truncated laplace''. With several measurings ''laplace, mean of 2'' and so on |
| ''scale'' | double precision | b of Laplace noise, sigma of Gaussian noise, in the measure's own units. For a mean, that of one noise with its variance |
| ''error_95'' | double precision | the larger half of the 95% interval in the largest group: noise, and what bounds may take away. In seconds of intervals. NULL of medians |
| ''price'' | double precision | the price that the answer was made at |
| ''free'' | boolean | whether it was a repeat |
| ''shown'' | text | ''as released'', or what ''dpsql.on_low_count'' and ''dpsql.rounding'' made of values |
| ''hidden_up_to'' | bigint | groups with at most so many people, by their noisy number, are not shown. NULL: all are |
| ''left_out'' | text | which rows are in no answer, in each answer anew |
| ''of'' | text | the value that is measured and the condition of FILTER, such as ''days where days > 3''. NULL of all rows or people |
| ''warnings'' | text | what to know of the answer, one a line. Clients get them as warnings with each answer, those of rare values once a session |

''bound'' ends with '', the least'' or '', the largest'' where it is an end of the candidates: people may have much more. It
ends with '', the only'' where there was one.
`

// paid tells of the tables of what was charged and stored; internal/engine/session's TestDocumentedTables holds it against them.
const paid = `
## What is left

''dpsql.budget'' has a row for your own budget, one for each of your roles that has a budget, and one for the data
set's. Where the budget comes back in windows it has one for the lifetime. What is left, and of what, in one line is
''SHOW dpsql.budget''. Since ''order'' is a word of SQL, ''SELECT scope, "order" FROM dpsql.budget'' needs the quotes.

| column of dpsql.budget | type | what it tells |
|---|---|---|
| ''scope'' | text | ''analyst'', ''role '' and its name, ''data_set'', ''lifetime'' |
| ''epsilon'', ''delta'' | double precision | the budget of the present window, with what was granted. For the lifetime, the epsilon that all windows may cost together (NULL: no limit) |
| ''"order"'' | double precision | the order of the Renyi side. NULL without one |
| ''pure_spent'' | double precision | the sum of epsilons. ''Infinity'' from the window's first Gaussian noise on. For the lifetime, what its charged windows cost |
| ''renyi_spent'', ''renyi_room'' | double precision | the Renyi losses, and how much they may come to. NULL without an order |
| ''delta_spent'' | double precision | the deltas, as of selected groups, which may come to half of ''delta''. For the lifetime, those of its charged windows |
| ''statements_left'' | bigint | how many more statements at the present ''dpsql.price'' fit. In your own row, the least of all rows |
| ''renews_at'' | timestamp without time zone | when it comes back, in UTC. NULL if it does not |
| ''granted'' | double precision | the part of ''epsilon'' that the owner granted in this window |
| ''odometer_epsilon'', ''odometer_delta'' | double precision | what the answers guarantee together that you paid for. In your own row alone |
| ''windows'' | bigint | for the lifetime, how many windows were charged |

## What you paid

Everyone sees the own rows alone, with numbers that count nobody else's. What others asked changes none of them.
Statements such as ''SELECT charge, price, pure_spent FROM dpsql.ledger WHERE state <> 'committed' ORDER BY made_at''
work as on any table.

''dpsql.ledger'' has a row for each charge of yours, the last 10,000: a statement with several releases has several.
Repeats of stored releases cost nothing and have none. The first look after a start of the server reads the ledger's
records, 2 s for 100,000. Other statements go on meanwhile.

| column of dpsql.ledger | type | what it tells |
|---|---|---|
| ''charge'' | bigint | its number among yours, from 1 |
| ''made_at'' | timestamp without time zone | when it was charged, in UTC |
| ''data_set'' | text | whose budget it is |
| ''statement'' | text | fingerprint of what was asked, ''release'' in ''dpsql.releases'': equal for equal statements, however they are spelled |
| ''state'' | text | ''reserved'', ''committed'', ''failed'', ''cancelled'' or ''recovered'', as below. Each is spent: none is given back |
| ''mechanism'' | text | what was run, as below. If there are several, all |
| ''price'' | double precision | the [price](glossary.md) |
| ''pure'', ''renyi'', ''delta'' | double precision | what it cost: the pure epsilon (''Infinity'' with Gaussian noise), the Renyi loss (NULL without an order), the delta |
| ''"order"'' | double precision | the order of the Renyi losses, which is that of the window that paid. Losses at different orders do not add up |
| ''pure_spent'', ''renyi_spent'', ''delta_spent'' | double precision | what you had spent with it, in its window: the last row's of this window are those of ''dpsql.budget'' |
| ''query'' | text | the statement as you sent it, with its parameters, [shortened](operations.md#what-was-asked) where it is long. NULL in the cases below |

| ''state'' | meaning |
|---|---|
| ''reserved'' | it runs |
| ''committed'' | answered |
| ''failed'' | it ended without an answer |
| ''cancelled'' | its client cancelled it or left, its timeout passed, or the server could not keep its answer |
| ''recovered'' | the server died before it ended |

| ''mechanism'' | what was run |
|---|---|
| ''discrete_laplace'', ''discrete_gaussian'' | noise |
| ''clipped_noise'' | noise of a bound that was chosen |
| ''above_threshold'' | the choice of a bound |
| ''exponential_choice'' | the choice of a flow's cap |
| ''smooth_scale'' | the bound of rows that are [joined off the unit](joins.md) |
| ''truncated_geometric_selection'', ''gaussian_selection'', ''one_of_selections'' | the selection of unknown groups |
| ''permute_and_flip'' | the pick of MODE and ''dp_top_k'' |
| ''sparse_vector'' | a [watch](watches.md) |
| ''training'', ''composed_training'' | a [training](training.md) |

''query'' is NULL if the statement was charged before texts were kept, if its key is gone, or if newer texts fill 16
MiB.

''dpsql.releases'' has a row for each stored release that you paid for and that answers at no charge.

| column of dpsql.releases | type | what it tells |
|---|---|---|
| ''charge'' | bigint | its number in ''dpsql.ledger''. NULL if that is no longer listed |
| ''release'' | text | what it answers, ''statement'' in ''dpsql.ledger'' |
| ''price'', ''pure'', ''renyi'', ''delta'' | double precision | what it cost, as there |
| ''made_at'', ''expires_at'' | timestamp without time zone | from when to when it answers, in UTC |
| ''query'' | text | the statement as you sent it, as in ''dpsql.ledger'' |

### Domains

''dpsql.domains'' has a row for each value that the policy lists for a column ([''values''](policy.md)). Where the values
are those of a public table, ask that table.

| column of dpsql.domains | type | what it tells |
|---|---|---|
| ''table_schema'', ''table_name'', ''column_name'' | text | whose value it is |
| ''position'' | bigint | its place in the list, from 1 |
| ''value'' | text | the value. NULL for NULL |

### Cubes

''dpsql.cubes'' has a row for each [cube](cubes.md) of yours.

| column of dpsql.cubes | type | what it tells |
|---|---|---|
| ''cube'' | text | its name |
| ''statement'' | text | the query that was released. NULL with all that follows but ''state'', if ''cache.key'' is another one |
| ''made_at'' | timestamp without time zone | when its rows were read, in UTC |
| ''price'' | double precision | what it cost |
| ''levels'', ''groups'' | bigint | how many grouping sets it has, and how many groups they have together |
| ''state'' | text | ''answers'', or why it answers nothing |

### Watches

''dpsql.watches'' has a row for each [watch](watches.md) of yours.

| column of dpsql.watches | type | what it tells |
|---|---|---|
| ''watch'' | text | its name |
| ''statement'' | text | the query whose count is looked at. NULL with all that follows but ''state'', if the key of texts is gone |
| ''threshold'' | bigint | alerts are given for counts from about here on |
| ''every'' | interval | the time between two looks |
| ''times'' | bigint | after how many alerts it ends |
| ''looks'' | bigint | how many looks were begun |
| ''alerts'' | bigint | how many of them gave an alert |
| ''last_alert'', ''next_look'' | timestamp without time zone | the time of the last look with an alert, and of the next look, in UTC. NULL if there is none |
| ''state'' | text | ''looking'', or ''ended: '' and why |
| ''price'' | double precision | what it costs, in each window of the budget in which it looks |
`

func configuration() []byte {
	var b bytes.Buffer
	_, _ = fmt.Fprint(&b, `<!-- Written by: go test ./internal/policy -run TestConfigurationDoc -update -->
# Limits and settings

This page is for owners who limit what clients may take. Analysts look up settings and the columns of dpsql's own
tables here. The policy's other keys are in [policy.md](policy.md).

## Limits

They keep one client from taking what others need. None of them is about privacy: that is the budget's and the bounds'
work. The policy sets them, all of them optional:

'''yaml
limits: {message: 16MiB, sessions: 200, statement_time: 5m, idle_time: 30m}
'''

Sizes are whole numbers of B, KiB, MiB or GiB. Times are such as 500ms, 60s, 5m, 24h. ''statement_timeout'' is another
name for ''limits.statement_time''. A reload takes over the limits whose column "reload" says yes. The others wait for a
restart, and the log names them. What is counted by address does not count a declared balancer's: the policy's
''balancers'' ([scale.md](scale.md#behind-a-balancer)). Clients of other machines that come through a balancer need TLS,
also where ''listen'' is a loopback address.

`)
	table(&b, LimitTable, true)
	_, _ = fmt.Fprint(&b, `
Codes are SQLSTATEs. PV006 is too_many_groups. PV012 is resource_failure, one text for everything that fails after a
charge, so that it tells nothing of the rows. After five of them in a window, at all proxies together, the analyst's
private statements are refused (PV013) until ''dpsql unfreeze''.

### Memory limits

- **''all_answer_memory''**: the process may take three times as much until Go's garbage collector has run.
- **''spool_groups''**: a release of more groups, or of more than about 16MiB, is on disk, in a spool beside the ledger,
  and its answer is read from there. Order statistics, MODE, ''dp_top_k'' and numbers of distinct values are held
  whatever their number.
- **''finishing_memory''**: WHERE, HAVING, ORDER BY, LIMIT and expressions need none.
- **''flow_memory''**: some 25 bytes for each two people with rows together, 1 to 8 more for each aggregate, and 75 for
  each person. The process may have as much again until Go's garbage collector has run. Where all statements that hold
  some wait, one begins again when the others have ended.
- **''stored_bytes''**: a stored answer counts until ''cache.ttl'' has passed, and a model until it is dropped. A
  release of public groups is refused where it might not fit. The size of one of chosen groups is not known before the
  charge. It is stored, and the next statement is refused. A SQLite ledger also keeps 64 MiB of its disk free for
  charges.
- **''training_memory''**: the file on disk has no name and lies beside the ledger.
- **''statements_at_once''**: as many statements, or one a core if these are more, read large stored releases.
- **''tokens''**: to read a message takes at most about 70 MB beside its text, and its statements keep 15 MB.

These cannot be set under ''limits'':

`)
	table(&b, FixedLimits, false)
	_, _ = fmt.Fprint(&b, `
## What an analyst may SET

Settings change what a statement costs and how it is bounded, within the policy. None turns noise or the budget off.
They follow transactions as PostgreSQL's do, but what was spent does not come back with a ROLLBACK. ''SHOW ALL'' lists
them too.

`, settings, `
A price is the most that a statement may take from the budget: as much as one Laplace answer with that epsilon ([more on
prices](budget.md#a-price-and-its-guarantee)). EXPLAIN says what a Gaussian answer at this price guarantees alone.
''dpsql.epsilon'' is the older name of ''dpsql.price'', and works the same.

''SHOW dpsql.budget'' says in one line what is left. [What is left](#what-is-left) has it as a table.

Some of PostgreSQL's settings matter too:

- ''DateStyle'', ''IntervalStyle'', ''bytea_output'' and ''extra_float_digits'' say how values of answers are written, as in
  PostgreSQL. They also say how dates and intervals in literals and parameters are read. What a statement itself turns
  into text (''d::text'', ''concat'', ''format'' ...), or reads from computed text, knows the defaults alone. It is refused
  where the session has another setting that would matter there.
- ''TimeZone'' takes the names of the time zone database, POSIX zones and offsets. It is part of what a statement means,
  so a stored release answers sessions of the same time zone only. On DuckDB, what is computed in a zone needs one of
  the 450 whose every change it dates as PostgreSQL does. The others are refused there, unless nothing is computed in
  them. Amsterdam, Oslo and Stockholm are such, for times before 1970.
- ''client_encoding'' is UTF8, SQL_ASCII, or a set of one byte a character (LATIN1 to LATIN10, WIN1250 to WIN1258, KOI8R
  ...).
- ''now'', ''today'', ''tomorrow'' and ''yesterday'' as texts of dates are refused, and so are times whose offset depends on
  today's date.
- The other settings that drivers send are taken where they cannot change an answer.

`, strings.TrimPrefix(aiming, "\n"), strings.TrimPrefix(showing, "\n"), strings.TrimPrefix(last, "\n"), paid, `
## The same question at a higher price

A statement that is asked again at no higher price is answered from its stored release, free. At a higher price it is
topped up where the data cannot have changed since ([which data](budget.md#changing-data)). Elsewhere it is a new
release at the whole price.

A *top-up* costs the difference. Bounds and groups stay, and everything is measured once more. Each value becomes the
mean of what it was and of the fresh one, weighed by variance and rounded. Where the mean would not be more exact, it
is the more exact of the two alone. Beforehand ''EXPLAIN'' says what it would cost and how exact it would be, and
afterwards ''dpsql.last'' does.

- A top-up raises the price by a quarter of what it was at least, and by ''query.price''/1000. For a smaller raise the
  release answers as it is, free: the error hardly differs. So a release has some tens of top-ups at most, and nobody
  can spoil or use up what others share.
- With Gaussian noise the mean is as exact as asking at once. With Laplace noise its error is up to sqrt(2) times that
  after one top-up (from half the price), and up to 3 times after many small ones. Whoever knows what they need asks
  for it first.
- A join off the unit by measured frequencies (''elastic'') is released anew, at the whole price, as are order
  statistics and the most frequent values: [what is free](budget.md#what-is-free) says more.

## Where each limit is tested

`)
	for _, list := range [][]Limit{LimitTable, FixedLimits} {
		for _, l := range list {
			_, _ = fmt.Fprintf(&b, "- ''%s'': %s\n", l.Name, beyond[l.Name])
		}
	}
	return bytes.ReplaceAll(bytes.ReplaceAll(b.Bytes(), []byte("'''"), []byte("```")), []byte("''"), []byte("`"))
}

func table(b *bytes.Buffer, rows []Limit, settable bool) {
	head := []string{"limit", "default", "what", "beyond it"}
	if settable {
		head = []string{"limit", "default", "from", "to", "reload", "what", "beyond it"}
	}
	_, _ = fmt.Fprintf(b, "| %s |\n|%s\n", strings.Join(head, " | "), strings.Repeat("---|", len(head)))
	for _, l := range rows {
		cells := []string{"''" + l.Name + "''", l.Default, l.What, l.Exceed}
		if settable {
			reload := "restart"
			if l.reloads {
				reload = "yes"
			}
			cells = []string{"''" + l.Name + "''", l.Default, l.Least, l.Most, reload, l.What, l.Exceed}
		}
		_, _ = fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
	}
}

// TestConfigurationDoc: docs/configuration.md says what the code does.
func TestConfigurationDoc(t *testing.T) {
	want := configuration()
	if *update {
		if err := os.WriteFile(configurationDoc, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(configurationDoc)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("docs/configuration.md is stale: go test ./internal/policy -run TestConfigurationDoc -update")
	}
}

// TestMechanismsDoc: docs/configuration.md names what dpsql.ledger may show.
func TestMechanismsDoc(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(repository, "internal/base/dp/*.go"))
	if err != nil {
		t.Fatal(err)
	}
	names := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`\) Name\(\) string +\{ return "(\w+)" \}`).FindAllSubmatch(text, -1) {
			if names++; !bytes.Contains(configuration(), append(append([]byte("`"), m[1]...), '`')) {
				t.Errorf("%s: %s is not in the list", file, m[1])
			}
		}
	}
	if names < 10 {
		t.Errorf("%d mechanisms", names)
	}
}

// TestFixedLimits: the list says what the parser does.
func TestFixedLimits(t *testing.T) {
	want := map[string]string{"statement text": fmt.Sprintf("%dMiB", pgsyntax.MaxText>>20), "max_public_groups": strconv.Itoa(defaultPublic)}
	for name, n := range map[string]int{"tokens": pgsyntax.MaxTokens, "listed": pgsyntax.MaxListed, "statements": pgsyntax.MaxStatements, "parameters": pgsyntax.MaxParams,
		"nesting": pgsyntax.MaxNest, "depth": pgsyntax.MaxDepth} {
		want[name] = strconv.Itoa(n)
	}
	stages, err := os.ReadFile(filepath.Join(repository, "sensitivity/divide/stages.go"))
	if err != nil {
		t.Fatal(err)
	}
	for name, of := range map[string]string{"operators": "maxOperators", "aggregates": "maxAggregates"} {
		if m := regexp.MustCompile("const " + of + " = ([0-9]+)").FindSubmatch(stages); m != nil {
			want[name] = string(m[1])
		}
	}
	for _, l := range FixedLimits {
		if l.Default != want[l.Name] {
			t.Errorf("%s is %s, want %s", l.Name, l.Default, want[l.Name])
		}
		delete(want, l.Name)
	}
	for name := range want {
		t.Errorf("%s is not in the list", name)
	}
}

var sqlstate = regexp.MustCompile(`\b(?:[0-9]{5}|57P[0-9]{2}|PV[0-9]{3})\b`)

// TestEveryLimitIsTested: each row names a test that is there and asks for the row's SQLSTATEs.
func TestEveryLimitIsTested(t *testing.T) {
	kinds, err := os.ReadFile(filepath.Join(repository, "internal/base/sqlerr/kinds.go"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]string{} // by SQLSTATE: the kind's name in Go
	for _, m := range regexp.MustCompile(`(?m)^\t(\w+) += reg\("\w+", "(\w+)"\)`).FindAllSubmatch(kinds, -1) {
		names[string(m[2])] = string(m[1])
	}
	ids := map[string]string{}
	for _, k := range sqlerr.Kinds() {
		ids[k.Code] = k.ID
	}
	seen := 0
	for _, list := range [][]Limit{LimitTable, FixedLimits} {
		for _, l := range list {
			seen++
			file, name, ok := strings.Cut(beyond[l.Name], " ")
			if !ok {
				t.Errorf("%s has no test", l.Name)
				continue
			}
			body, err := function(filepath.Join(repository, file), name)
			if err != nil {
				t.Errorf("%s: %v", l.Name, err)
				continue
			}
			for _, code := range sqlstate.FindAllString(l.Exceed, -1) {
				if names[code] == "" {
					t.Errorf("%s: nothing gives %s", l.Name, code)
				} else if !strings.Contains(body, code) && !strings.Contains(body, `"`+ids[code]+`"`) && !strings.Contains(body, "sqlerr."+names[code]) {
					t.Errorf("%s: %s does not ask for %s", l.Name, name, code)
				}
			}
		}
	}
	if seen != len(beyond) {
		t.Errorf("%d limits, %d tests of them", seen, len(beyond))
	}
}

// function is the text of a top-level function.
func function(file, name string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	_, after, ok := strings.Cut(string(text), "\nfunc "+name+"(")
	if !ok {
		return "", fmt.Errorf("%s has no %s", file, name)
	}
	body, _, ok := strings.Cut(after, "\n}\n")
	if !ok {
		return "", fmt.Errorf("%s: %s has no end", file, name)
	}
	return body, nil
}
