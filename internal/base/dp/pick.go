package dp

// Picks are choices of the candidate with the most rows, by permute-and-flip on the numbers of rows, which one unit raises by at most PerGroup and lowers nowhere: Groups of them are made of which one unit
// may change the numbers. Scale is in rows: a candidate with Scale rows fewer is e times less probable to be taken when it is looked at.
type Picks struct {
	Sensitivity Sensitivity `json:"sensitivity"`
	Scale       Scale       `json:"scale"`
}

// PickNoise is Picks as the law of a Clipped event: their scale is at least Ratio times g t.
const PickNoise NoiseKind = "permute_and_flip"

// Name is the event's stable name in the ledger.
func (Picks) Name() string { return "permute_and_flip" }

// Validate refuses what no mechanism can have run.
func (e Picks) Validate() error { return firstError(e.Sensitivity.Validate(), e.Scale.Validate()) }
