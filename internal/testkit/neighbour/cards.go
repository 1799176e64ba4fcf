package neighbour

import (
	"fmt"
	"strings"
)

// cards has a table in which each person has one row at most, and many rows have no person. OWN says what those are.
const cards = `people unit=person_id key=person_id m=1
  person_id int4 notnull
  city text values=Oslo|Bergen|null
cards unit=person_id path=person_id->people.person_id key=person_id key=card_id OWN
  card_id int4 notnull
  person_id int4
  sort text values=gold|blue|null
  points int4 range=0..50
uses path=card_id->cards.card_id m=3
  card_id int4
  minutes int4 range=0..60
sorts public key=name
  name text notnull
  rank int4 notnull
`

// CardCatalog is cards, whose rows without a person are units of their own, or are dropped.
func CardCatalog(own bool) *Catalog {
	c, err := ParseCatalog(strings.Replace(cards, "OWN", map[bool]string{true: "own=card_id"}[own], 1))
	if err != nil {
		panic(err)
	}
	return c
}

func cardTable(name string) string { return fmt.Sprintf("%q.%q", schemaName, name) }

// CardRows has cards 1 to 40, of which the first 10 are of a person, with points at the ends of their range and beyond.
func CardRows() (out []string) {
	pick := func(n int, of ...string) string { return of[n%len(of)] }
	out = append(out, fmt.Sprintf("INSERT INTO %s VALUES ('gold', 1), ('blue', 2)", cardTable("sorts")))
	for p := 1; p <= 12; p++ {
		out = append(out, fmt.Sprintf("INSERT INTO %s VALUES (%d, %s)", cardTable("people"), p, pick(p, "'Oslo'", "'Bergen'", "NULL")))
	}
	for c := 1; c <= 40; c++ {
		person := "NULL"
		if c <= 10 {
			person = fmt.Sprint(c)
		}
		out = append(out, fmt.Sprintf("INSERT INTO %s VALUES (%d, %s, %s, %s)", cardTable("cards"), c, person, pick(c, "'gold'", "'blue'", "NULL"), pick(c, "50", "70", "0", "NULL")))
		for range c % 5 {
			out = append(out, fmt.Sprintf("INSERT INTO %s VALUES (%d, %d)", cardTable("uses"), c, c*7%80))
		}
	}
	return out
}

// CardUnits remove persons; where rows without a person are units of their own, some of these too.
func CardUnits(own bool) (out []Removal) {
	remove := func(name, which string, more ...string) {
		out = append(out, Removal{name, append([]string{
			fmt.Sprintf("DELETE FROM %s WHERE card_id IN (SELECT card_id FROM %s WHERE %s)", cardTable("uses"), cardTable("cards"), which),
			fmt.Sprintf("DELETE FROM %s WHERE %s", cardTable("cards"), which)}, more...)})
	}
	for _, p := range []int{1, 4, 5, 9, 12} {
		is := fmt.Sprintf("person_id = %d", p)
		remove(fmt.Sprintf("person %d", p), is, fmt.Sprintf("DELETE FROM %s WHERE %s", cardTable("people"), is))
	}
	if own {
		for _, c := range []int{12, 13, 24} {
			remove(fmt.Sprintf("card %d", c), fmt.Sprintf("card_id = %d", c))
		}
	}
	return out
}

// CardOwnerless removes the rows that are dropped; none where they are units of their own.
func CardOwnerless(own bool) []string {
	if own {
		return nil
	}
	return []string{fmt.Sprintf("DELETE FROM %s WHERE card_id IN (SELECT card_id FROM %s WHERE person_id IS NULL)", cardTable("uses"), cardTable("cards")),
		fmt.Sprintf("DELETE FROM %s WHERE person_id IS NULL", cardTable("cards"))}
}

// CardStatements have one row a unit at most; those of CardRepeats have several.
var (
	CardStatements = []string{
		"select count(*), sum(points), avg(points), count(points) from cards",
		"select sort, count(*), sum(points) from cards group by 1",
		"select points, count(*) from cards where points is not null group by 1",
		"select count(*), sum(c.points) from cards c join people p on p.person_id = c.person_id",
		"select p.city, count(c.points) from people p left join cards c on c.person_id = p.person_id group by 1",
		"select p.city, count(*), sum(c.points) from cards c left join people p on p.person_id = c.person_id group by 1",
		"select count(*), sum(t.points) from (select person_id, points from cards where points > 0) t",
		"select count(*) from cards c where exists (select 1 from uses u where u.card_id = c.card_id and u.minutes > 5)",
		"select count(*) from cards a join cards b on a.person_id = b.person_id",
		"select count(distinct points) from cards",
		"select count(*), sum(greatest(0, least(m, 60))) from (select person_id, max(points) as m from cards group by 1) t",
		"select count(*) from (select person_id, sort, count(*) as n from cards group by 1, 2) t where n = 1",
		"select count(*) from (select points, row_number() over (partition by person_id order by points) as n from cards) t where n = 1",
		"select count(*) from cards c full join people p on p.person_id = c.person_id",
		"select count(*) from people p where (select max(c.points) from cards c where c.person_id = p.person_id) > 10",
	}
	CardRepeats = []string{
		"select count(*), sum(u.minutes) from uses u join cards c on c.card_id = u.card_id",
		"select c.sort, count(*) from uses u join cards c on c.card_id = u.card_id join people p on p.person_id = c.person_id group by 1",
		"select count(*) from uses",
		"select c.points, count(*) from uses u join cards c on c.card_id = u.card_id where c.points is not null group by 1",
	}
)
