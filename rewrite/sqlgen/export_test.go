package sqlgen

// PlainQuery is the un-noised print, for this package's tests alone: it exists in no product build.
var PlainQuery = plainQuery
