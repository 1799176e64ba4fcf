package sqlerr

// The registry: one line a kind. Standard SQLSTATEs where one fits, else class PV.
var (
	Syntax              = reg("syntax", "42601")
	Unsupported         = reg("unsupported", "0A000") // PostgreSQL has it, dpsql does not
	UnsupportedFunction = reg("unsupported_function", "0A000")
	UnsupportedOperator = reg("unsupported_operator", "0A000")
	UnsupportedCast     = reg("unsupported_cast", "0A000")
	UnsupportedType     = reg("unsupported_type", "0A000")
	TooComplex          = reg("too_complex", "54001")
	TooLong             = reg("too_long", "54000")
	UndefinedTable      = reg("undefined_table", "42P01")
	UndefinedColumn     = reg("undefined_column", "42703")
	AmbiguousColumn     = reg("ambiguous_column", "42702")
	DuplicateAlias      = reg("duplicate_alias", "42712")
	AmbiguousFunction   = reg("ambiguous_function", "42725")
	AmbiguousParam      = reg("ambiguous_parameter", "42P08")
	InvalidColumnRef    = reg("invalid_column_reference", "42P10")
	WrongObjectType     = reg("wrong_object_type", "42809")
	UndefinedFunction   = reg("undefined_function", "42883")
	UndefinedSchema     = reg("undefined_schema", "3F000")
	UndefinedObject     = reg("undefined_object", "42704")
	DatatypeMismatch    = reg("datatype_mismatch", "42804")
	CannotCoerce        = reg("cannot_coerce", "42846")
	IndeterminateType   = reg("indeterminate_type", "42P18")
	Grouping            = reg("grouping_error", "42803")
	Windowing           = reg("windowing_error", "42P20")
	UndefinedParam      = reg("undefined_parameter", "42P02")
	InvalidParam        = reg("invalid_parameter", "22023")
	InvalidText         = reg("invalid_text", "22P02")
	InvalidBinary       = reg("invalid_binary", "22P03")
	NumericRange        = reg("numeric_out_of_range", "22003")
	DivisionByZero      = reg("division_by_zero", "22012")
	InvalidRowCount     = reg("invalid_row_count", "2201W")
	InvalidRowOffset    = reg("invalid_row_offset", "2201X")
	InvalidDatetime     = reg("invalid_datetime", "22007")
	InvalidEncoding     = reg("invalid_encoding", "22021")
	InvalidEscape       = reg("invalid_escape_sequence", "22025")
	DatetimeRange       = reg("datetime_out_of_range", "22008")
	IntervalRange       = reg("interval_out_of_range", "22015")
	UntranslatableChar  = reg("untranslatable_character", "22P05")
	ArraySubscript      = reg("array_subscript_error", "2202E")
	TimeZoneRange       = reg("time_zone_out_of_range", "22009")
	InvalidLogarithm    = reg("invalid_logarithm", "2201E")
	InvalidPower        = reg("invalid_power", "2201F")
	InvalidBucket       = reg("invalid_width_bucket", "2201G")
	InvalidRegex        = reg("invalid_regular_expression", "2201B")
	Cardinality         = reg("cardinality_violation", "21000")
	NullValue           = reg("null_value_not_allowed", "22004")
	InvalidFrameSize    = reg("invalid_frame_size", "22013")
	InvalidNtile        = reg("invalid_ntile_argument", "22014")
	InvalidNth          = reg("invalid_nth_value_argument", "22016")
	SubstringError      = reg("substring_error", "22011")
	StringTooLong       = reg("string_too_long", "22001")
	ProtocolViolation   = reg("protocol_violation", "08P01")
	InvalidPassword     = reg("invalid_password", "28P01")
	InvalidAuth         = reg("invalid_authorization", "28000")
	UndefinedDatabase   = reg("undefined_database", "3D000")
	InvalidStatement    = reg("invalid_statement_name", "26000")
	DuplicateObject     = reg("duplicate_object", "42710")
	DuplicateStmt       = reg("duplicate_statement", "42P05")
	InvalidPortal       = reg("invalid_portal", "34000")
	InvalidTxState      = reg("failed_transaction", "25P02")
	InvalidCursor       = reg("invalid_cursor_definition", "42P11")
	ActiveTx            = reg("active_transaction", "25001")
	NoActiveTx          = reg("no_active_transaction", "25P01")
	InvalidSavepoint    = reg("invalid_savepoint", "3B001")
	DuplicatePortal     = reg("duplicate_portal", "42P03")
	SessionLimit        = reg("session_limit", "53400")
	PortalState         = reg("portal_state", "55000")
	CursorState         = reg("cursor_state", "24000")
	CantChangeParam     = reg("cannot_change_parameter", "55P02")
	ReadOnly            = reg("read_only", "25006")
	QueryCanceled       = reg("query_canceled", "57014")
	AdminShutdown       = reg("admin_shutdown", "57P01")
	IdleTimeout         = reg("idle_timeout", "57P05")
	IdleInTxTimeout     = reg("idle_in_transaction_timeout", "25P03")
	DiskFull            = reg("disk_full", "53100")
	TooManyConns        = reg("too_many_connections", "53300")
	Privilege           = reg("insufficient_privilege", "42501")
	Internal            = reg("internal", "XX000")

	RawRows         = reg("raw_rows", "PV001")         // a row-returning SELECT on private data
	NoRange         = reg("no_range", "PV002")         // a sum or average without declared range
	JoinOffUnit     = reg("join_off_unit", "PV004")    // a join of two persons' rows
	UnknownGroups   = reg("unknown_groups", "PV005")   // unknown groups with delta 0
	TooManyGroups   = reg("too_many_groups", "PV006")  // more public groups than max_public_groups
	BudgetExhausted = reg("budget_exhausted", "PV007") // not enough budget left
	PriceTooLarge   = reg("price_too_large", "PV008")  // above max_query_price
	PrivateShape    = reg("private_shape", "PV009")    // a shape over private rows that cannot be bounded
	BadMechanism    = reg("mechanism_unavailable", "PV010")
	NoiseTooLarge   = reg("noise_too_large", "PV011")
	ResourceFailure = reg("resource_failure", "PV012")   // the one fixed error of everything that fails after admission
	AnalystStopped  = reg("analyst_stopped", "PV013")    // too many resource failures
	LedgerFailure   = reg("ledger_unavailable", "PV014") // the ledger could not make the charge durable
	PrivateFunction = reg("private_function", "PV015")   // a function that may not see private values
	Frozen          = reg("frozen", "PV016")             // the owner has frozen this analyst, or everybody
	LifetimeEnded   = reg("lifetime_ended", "PV017")     // the lifetime budget holds no new window
	SchemaChanged   = reg("schema_changed", "PV018")     // the database no longer enforces what the policy needs
	TargetUnknown   = reg("target_unknown", "PV019")     // no price is known that gives dpsql.target_error
	PromiseChanged  = reg("promise_changed", "PV020")    // the budget was raised, and this server has not read the policy since
	NoDeclaredValue = reg("no_declared_value", "PV021")  // conditions ask for values of a column that the policy says it has none of
)

var kinds []Kind

func reg(id, code string) Kind {
	k := Kind{ID: id, Code: code}
	kinds = append(kinds, k)
	return k
}

// Kinds lists every registered kind.
func Kinds() []Kind { return append([]Kind(nil), kinds...) }
