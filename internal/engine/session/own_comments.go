package session

// OwnComments are what psql's \d+ shows of dpsql's own tables ("") and their columns. docs/configuration.md says more.
var OwnComments = map[string]map[string]string{
	"budget": {
		"": "your budget, those of your roles, the data set's and the lifetime's", "scope": "whose budget it is", "epsilon": "the budget of this window, with what was granted", "delta": "the delta of this budget",
		"order": "the order of the Renyi side, NULL without one", "pure_spent": "the sum of epsilons, Infinity after Gaussian noise", "renyi_spent": "the sum of Renyi losses", "renyi_room": "how much the Renyi losses may come to",
		"delta_spent": "the sum of deltas", "statements_left": "how many more statements at the present dpsql.price fit", "renews_at": "when it comes back, in UTC", "granted": "the part of epsilon that the owner granted",
		"odometer_epsilon": "what the answers that you paid for guarantee together", "odometer_delta": "the delta of that guarantee", "windows": "how many windows of the lifetime were charged",
	},
	"last": {
		"": "bounds, noise and errors of the session's last answer", "release": "the number of the release, as in EXPLAIN (VERBOSE)", "measure": "the number of the measure, as in EXPLAIN (VERBOSE)", "kind": "what was measured",
		"bound": "where the bound is from", "clip": "what one person counts for in one group at most", "groups": "groups of one person that count", "noise": "which noise was added", "scale": "the scale of the noise, in the measure's units",
		"error_95": "the larger half of the 95% interval in the largest group", "price": "the price that the answer was made at", "free": "whether it was a repeat", "shown": "what was made of the values",
		"hidden_up_to": "groups of at most so many people are not shown", "left_out": "which rows are in no answer", "of": "the value that is measured, and of which rows", "warnings": "what to know of the answer, one a line",
	},
	"releases": {"": "the stored answers that you paid for, which are free until they expire"},
	"ledger":   {"": "what you paid, a row for each charge"},
	"domains": {
		"": "the values that columns have by the policy, in its order", "table_schema": "the table's schema", "table_name": "the table", "column_name": "the column", "position": "the value's place in the list, from 1", "value": "the value, NULL for NULL",
	},
	"cubes": {
		"": "your cubes, whose levels answer at no charge", "cube": "the name of the cube", "statement": "the query that was released", "made_at": "when its rows were read, in UTC", "price": "what it cost", "levels": "how many grouping sets it has",
		"groups": "how many groups they have together", "state": "whether it answers, or why not",
	},
	"watches": {
		"": "your watches and their alerts", "watch": "the name of the watch", "statement": "the query whose count is looked at", "threshold": "alerts are given for counts from here on", "every": "the time between two looks",
		"times": "alerts after which it ends", "looks": "looks that were begun", "alerts": "alerts so far", "last_alert": "the time of the last look with an alert, in UTC", "next_look": "the time of the next look, in UTC", "state": "whether it looks, or why it ended", "price": "what it costs in each window of the budget",
	},
}
