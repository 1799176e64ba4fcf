package engine_test
import ("testing";"fmt"
"github.com/dpsql/dpsql/internal/testkit/enginetest"
)
func TestZZ(t *testing.T) {
	s := enginetest.PersonlessSession(t, enginetest.Dialects[0], sumsPolicy, sumsStatements)
	enginetest.Set(t, s, "dpsql.notices", "brief")
	for _, q := range []string{"select kind, grade, count(*) from people group by rollup (kind, grade)","select kind, grade, count(*), sum(age), avg(age) from people group by rollup (kind, grade)"} {
	for _, on := range []string{"on","off"} {
	enginetest.Set(t, s, "dpsql.consistent", on)
	_, a := enginetest.Ask(t, s, q)
	for _, r := range a.Rows { fmt.Println(r) }
	fmt.Println(a.Notice)
	}
	fmt.Println(enginetest.Explained(t,s,q))
	}
}
