package neighbour

import (
	"fmt"
	"strings"
)

// Guests is a shop in which orders may have no customer, items no order, and returns no item; rows of orders, items and returns are then units of their own, those of
// parcels and visits are dropped. Its keys are of the type KEY.
const Guests = `customers unit=customer_id key=customer_id m=1
  customer_id KEY notnull
  city text values=Oslo|Bergen|null
orders unit=customer_id path=customer_id->customers.customer_id key=order_id own=order_id
  order_id KEY notnull
  customer_id KEY
  channel text values=web|shop|null
  total int4 range=0..1000
items path=order_id->orders.order_id key=item_id,line own=item_id,line
  item_id KEY notnull
  line int4 notnull
  order_id KEY
  product text
  price int4 notnull range=0..500
returns path=item_id,line->items.item_id,line key=return_id own=return_id
  return_id KEY notnull
  item_id KEY
  line int4
  reason text notnull values=late|broken
parcels path=order_id->orders.order_id
  order_id KEY
  weight int4 range=0..100
visits unit=customer_id path=customer_id->customers.customer_id
  customer_id KEY
  minutes int4 range=0..600
channels public key=name
  name text notnull
  rank int4 notnull
`

// GuestKeys are types of keys, each with the form of its values.
var GuestKeys = map[string]string{"int4": "%d", "int8": "%d000000000", "text": "'k%d'", "varchar(20)": "'%d'", "numeric(12,2)": "%d.50", "uuid": "'00000000-0000-0000-0000-%012d'",
	"date": "DATE '2020-01-01' + %d", "timestamp": "TIMESTAMP '2020-01-01 00:00:00' + %d * INTERVAL '1 day'"}

// GuestCatalog is Guests with keys of a type.
func GuestCatalog(key string) *Catalog {
	c, err := ParseCatalog(strings.ReplaceAll(Guests, "KEY", key))
	if err != nil {
		panic(err)
	}
	return c
}

// guestKey is the k-th key of a type, from 1; 0 is NULL.
func guestKey(key string, k int) string {
	if k == 0 {
		return "NULL"
	}
	return fmt.Sprintf(GuestKeys[key], k)
}

// guestItems is more than the number of items that have an order.
const guestItems = 200

// GuestRows has orders 1 to 40, of which every third has no customer, and keys of customers, orders, items and returns that are alike.
func GuestRows(key string) (out []string) {
	k := func(n int) string { return guestKey(key, n) }
	row := func(table string, values ...string) {
		out = append(out, fmt.Sprintf("INSERT INTO %q.%q VALUES (%s)", schemaName, table, strings.Join(values, ", ")))
	}
	row("channels", "'web'", "1")
	row("channels", "'shop'", "2")
	num := func(n int) string { return fmt.Sprint(n) }
	pick := func(n int, of ...string) string { return of[n%len(of)] }
	for c := 1; c <= 12; c++ {
		row("customers", k(c), pick(c, "'Oslo'", "'Bergen'", "NULL"))
		for v := range c % 4 {
			row("visits", k(c), num(100*v+c))
		}
	}
	item := 0
	for o := 1; o <= 40; o++ {
		customer := 1 + o*7%12
		if o%3 == 0 {
			customer = 0
		}
		row("orders", k(o), k(customer), pick(o, "'web'", "'shop'", "'web'", "NULL"), num(o*37%1100))
		n := o % 5
		if o == 39 || o == 38 {
			n = 12
		}
		for range n {
			item++
			row("items", k(1+item/2), num(item%2), k(o), pick(item, "'pen'", "'ink'", "'cup'", "NULL"), num(item*53%600))
			if item%4 == 0 {
				row("returns", k(item/4), k(1+item/2), num(item%2), pick(item/4, "'late'", "'broken'"))
			}
		}
		row("parcels", k(o), num(o))
	}
	item = guestItems
	for o := range 6 { // of no order, or of one that is not there
		item++
		row("items", k(1+item/2), num(item%2), k(o%2*99), "'pen'", num(item*53%600))
		row("returns", k(70+2*o), k(1+item/2), num(item%2), "'late'")
		row("returns", k(71+2*o), k(o%2*98), "1", "'broken'")
		row("parcels", k(o%2*99), "5")
		row("visits", "NULL", "7")
	}
	return out
}

// GuestUnits remove persons, and rows without one with everything that hangs on them.
func GuestUnits(key string) (out []Removal) {
	table := func(name string) string { return fmt.Sprintf("%q.%q", schemaName, name) }
	unit := func(name, orders string, more ...string) {
		items := fmt.Sprintf("order_id IN (SELECT order_id FROM %s WHERE %s)", table("orders"), orders)
		out = append(out, Removal{name, append([]string{
			fmt.Sprintf("DELETE FROM %s WHERE (item_id, line) IN (SELECT item_id, line FROM %s WHERE %s)", table("returns"), table("items"), items),
			fmt.Sprintf("DELETE FROM %s WHERE %s", table("items"), items),
			fmt.Sprintf("DELETE FROM %s WHERE %s", table("parcels"), items),
			fmt.Sprintf("DELETE FROM %s WHERE %s", table("orders"), orders)}, more...)})
	}
	for _, c := range []int{1, 2, 3, 9} {
		is := "customer_id = " + guestKey(key, c)
		unit(fmt.Sprintf("customer %d", c), is, fmt.Sprintf("DELETE FROM %s WHERE %s", table("visits"), is), fmt.Sprintf("DELETE FROM %s WHERE %s", table("customers"), is))
	}
	for _, o := range []int{3, 9, 24, 39} {
		unit(fmt.Sprintf("order %d", o), "order_id = "+guestKey(key, o))
	}
	lost := fmt.Sprintf("(order_id IS NULL OR NOT order_id IN (SELECT order_id FROM %s))", table("orders"))
	for _, i := range []int{guestItems + 1, guestItems + 2, guestItems + 3} {
		is := fmt.Sprintf("item_id = %s AND line = %d", guestKey(key, 1+i/2), i%2)
		out = append(out, Removal{fmt.Sprintf("item %d", i), []string{fmt.Sprintf("DELETE FROM %s WHERE %s", table("returns"), is), fmt.Sprintf("DELETE FROM %s WHERE %s AND %s", table("items"), is, lost)}})
	}
	for o := range 2 {
		out = append(out, Removal{fmt.Sprintf("return %d", 71+2*o), []string{fmt.Sprintf("DELETE FROM %s WHERE return_id = %s", table("returns"), guestKey(key, 71+2*o))}})
	}
	return out
}

// GuestOwnerless removes the rows that are dropped.
func GuestOwnerless() []string {
	return []string{fmt.Sprintf("DELETE FROM %q.%q WHERE order_id IS NULL OR NOT order_id IN (SELECT order_id FROM %[1]q.%[3]q)", schemaName, "parcels", "orders"),
		fmt.Sprintf("DELETE FROM %q.%q WHERE customer_id IS NULL", schemaName, "visits")}
}

// GuestStatement is a statement over Guests; Plain is what it gives where all rows count that lead to a unit, if that is not what its own text gives.
type GuestStatement struct{ SQL, Plain string }

// GuestStatements have every shape in which a unit is carried.
var GuestStatements = []GuestStatement{
	{SQL: "select count(*) from orders"},
	{SQL: "select channel, count(*), sum(least(total, 1000)) from orders group by 1"},
	{SQL: "select count(distinct customer_id) from orders"},
	{SQL: "select channel, count(distinct customer_id) from orders group by 1"},
	{SQL: "select count(distinct customer_id) from orders o join items i on i.order_id = o.order_id where price > 100"},
	{SQL: "select count(*), count(distinct customer_id) filter (where total > 100) from orders"},
	{SQL: "select count(*), sum(least(price, 500)) from items"},
	{SQL: "select coalesce(product, '-'), count(*) from items where product is not null group by 1"},
	{SQL: "select count(*) from items i join orders o on o.order_id = i.order_id where o.channel = 'web'"},
	{SQL: "select o.channel, count(*), count(i.price) from orders o left join items i on i.order_id = o.order_id group by 1"},
	{SQL: "select o.channel, count(*) from items i left join orders o on o.order_id = i.order_id group by 1"},
	{SQL: "select count(*) from returns"},
	{SQL: "select reason, count(*) from returns r join items i on i.item_id = r.item_id and i.line = r.line group by 1"},
	{SQL: "select count(*) from returns r join items i on i.item_id = r.item_id and i.line = r.line join orders o on o.order_id = i.order_id where o.total > 100"},
	{SQL: "select count(*), sum(greatest(0, least(n, 1000))) from (select order_id, count(*) as n from items where order_id is not null group by 1) t",
		Plain: "select count(*), sum(n) from (select i.order_id, case when o.order_id is null then i.item_id * 10 + i.line end as x, count(*) as n from items i left join orders o on o.order_id = i.order_id where i.order_id is not null group by 1, 2) t"},
	{SQL: "select count(*) from (select o.order_id, sum(i.price) as s from orders o join items i on i.order_id = o.order_id group by 1) t where s > 100"},
	{SQL: "select count(*) from (select o.order_id, o.customer_id, sum(i.price) as s from orders o join items i on i.order_id = o.order_id group by 1, 2) t where s > 100"},
	{SQL: "select count(*), sum(greatest(0, least(n, 1000))) from (select customer_id, count(*) as n from orders group by 1) t", Plain: "select count(*), sum(n) from (select customer_id, count(*) as n from orders group by 1) t where customer_id is not null"},
	{SQL: "select count(*) from orders o where exists (select 1 from items i where i.order_id = o.order_id and i.price > 50)"},
	{SQL: "select count(*) from items i where exists (select 1 from orders o where o.order_id = i.order_id and o.channel = 'web')"},
	{SQL: "select count(*) from items i where i.price >= (select max(j.price) from items j where j.order_id = i.order_id)",
		Plain: "select count(*) from items i where i.price >= (select max(j.price) from items j join orders o on o.order_id = j.order_id where j.order_id = i.order_id)"},
	{SQL: "select count(*) from items i where (select count(*) from items j where j.order_id = i.order_id) = 3",
		Plain: "select count(*) from items i where (select count(*) from items j join orders o on o.order_id = j.order_id where j.order_id = i.order_id) = 3"},
	{SQL: "select count(*) from returns r where (select count(*) from returns s where s.item_id = r.item_id and s.line = r.line) = 3",
		Plain: "select count(*) from returns r where (select count(*) from returns s join items i on i.item_id = s.item_id and i.line = s.line where s.item_id = r.item_id and s.line = r.line) = 3"},
	{SQL: "select count(*) from items i where (select count(*) from parcels p where p.order_id = i.order_id) = 3",
		Plain: "select count(*) from items i where (select count(*) from parcels p join orders o on o.order_id = p.order_id where p.order_id = i.order_id) = 3"},
	{SQL: "select count(*) from orders o where not exists (select 1 from visits v where v.customer_id = o.customer_id)"},
	{SQL: "select count(*) from orders o where (select max(price) from items i where i.order_id = o.order_id) > 100"},
	{SQL: "select count(*), sum(x) from (select least(total, 1000) as x from orders union all select least(price, 500) from items) t"},
	{SQL: "select count(*) from (select customer_id, total from orders union all select customer_id, minutes from visits) t",
		Plain: "select count(*) from (select customer_id, total from orders union all select customer_id, minutes from visits where customer_id is not null) t"},
	{SQL: "select count(distinct customer_id), count(*) from (select customer_id, total from orders union all select customer_id, minutes from visits) t",
		Plain: "select count(distinct customer_id), count(*) from (select customer_id, total from orders union all select customer_id, minutes from visits where customer_id is not null) t"},
	{SQL: "select count(*) from (select customer_id from orders union select customer_id from visits) t", Plain: "select count(customer_id) from (select customer_id from orders union select customer_id from visits) t"},
	{SQL: "select count(*) from (select row_number() over (partition by order_id order by price) as rn, order_id from items) t where rn = 1 and order_id is not null",
		Plain: "select count(*) from (select distinct i.order_id, case when o.order_id is null then i.item_id * 10 + i.line end as x from items i left join orders o on o.order_id = i.order_id where i.order_id is not null) t"},
	{SQL: "select count(*) from (select row_number() over (partition by customer_id order by total) as rn, customer_id from orders) t where rn = 1",
		Plain: "select count(distinct customer_id) + count(*) filter (where customer_id is null) from orders"},
	{SQL: "select count(*) from (select distinct order_id, product from items) t where order_id is not null",
		Plain: "select count(*) from (select distinct i.order_id, product, case when o.order_id is null then i.item_id * 10 + i.line end as x from items i left join orders o on o.order_id = i.order_id where i.order_id is not null) t"},
	{SQL: "select count(*) from orders o full join visits v on v.customer_id = o.customer_id",
		Plain: "select count(*) from orders o full join (select * from visits where customer_id is not null) v on v.customer_id = o.customer_id"},
	{SQL: "select count(*) from orders o, lateral (select max(price) as m from items i where i.order_id = o.order_id) t where m > 10"},
	{SQL: "select count(*) from orders o left join lateral (select price from items i where i.order_id = o.order_id order by price desc limit 1) t on true"},
	{SQL: "select count(*) from orders o join customers c on c.customer_id = o.customer_id"},
	{SQL: "select c.city, count(*) from orders o left join customers c on c.customer_id = o.customer_id group by 1"},
	{SQL: "select c.city, count(o.total) from customers c left join orders o on c.customer_id = o.customer_id group by 1"},
	{SQL: "select count(*) from orders o join (select customer_id, count(*) as n from orders group by 1) t on t.customer_id = o.customer_id where n > 1"},
	{SQL: "select count(*) from orders o left join (select order_id, count(*) as n from items group by 1) t on t.order_id = o.order_id where coalesce(n, 0) < 3"},
	{SQL: "select count(*) from orders o join visits v on v.customer_id = o.customer_id"},
	{SQL: "select count(*) from parcels", Plain: "select count(*) from parcels join orders using (order_id)"},
	{SQL: "select channel, count(*), sum(total), avg(total) from orders where customer_id is null group by 1"},
	{SQL: "select count(*) from parcels p join orders o on o.order_id = p.order_id"},
}
