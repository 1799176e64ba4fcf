package neighbour

import (
	"fmt"
	"strings"
)

// Mails is a shop in which an order without a customer is of the unit that its email or else its phone names, and a unit of its own where it has neither; an item without an order, and a letter without
// a customer, are of the unit that their email names, or dropped. Parcels follow their orders; visits without a customer are dropped.
const Mails = `customers unit=customer_id key=customer_id m=1
  customer_id int4 notnull
  city text values=Oslo|Bergen|null
orders unit=customer_id path=customer_id->customers.customer_id key=order_id else=email,phone own=order_id
  order_id int4 notnull
  customer_id int4
  email text
  phone int4
  channel text values=web|shop|null
  total int4 range=0..1000
items path=order_id->orders.order_id key=item_id else=email
  item_id int4 notnull
  order_id int4
  email varchar(20)
  product text
  price int4 notnull range=0..500
letters unit=customer_id path=customer_id->customers.customer_id else=email
  customer_id int4
  email text
  words int4 range=0..600
parcels path=order_id->orders.order_id
  order_id int4
  weight int4 range=0..100
visits unit=customer_id path=customer_id->customers.customer_id
  customer_id int4
  minutes int4 range=0..600
channels public key=name
  name text notnull
  rank int4 notnull
`

// MailCatalog is Mails.
func MailCatalog() *Catalog {
	c, err := ParseCatalog(Mails)
	if err != nil {
		panic(err)
	}
	return c
}

func mailTable(name string) string { return fmt.Sprintf("%q.%q", schemaName, name) }

// mailLost are items that lead to no order.
var mailLost = fmt.Sprintf("(order_id IS NULL OR NOT order_id IN (SELECT order_id FROM %s))", mailTable("orders"))

// MailRows has customers 1 to 12, guests with email '5' and with phone 5, orders of customers with such emails, and orders of nobody with keys that are alike.
func MailRows() (out []string) {
	row := func(table string, values ...string) {
		out = append(out, fmt.Sprintf("INSERT INTO %s VALUES (%s)", mailTable(table), strings.Join(values, ", ")))
	}
	num := func(n int) string { return fmt.Sprint(n) }
	pick := func(n int, of ...string) string { return of[n%len(of)] }
	row("channels", "'web'", "1")
	row("channels", "'shop'", "2")
	for c := 1; c <= 12; c++ {
		row("customers", num(c), pick(c, "'Oslo'", "'Bergen'", "NULL"))
		for v := range c % 4 {
			row("visits", num(c), num(100*v+c))
		}
	}
	item := 0
	add := func(order string) {
		item++
		row("items", num(item), order, pick(item, "'5'", "'x@y'", "NULL"), pick(item, "'pen'", "'ink'", "'cup'", "NULL"), num(item*53%600))
	}
	for o := 1; o <= 40; o++ {
		customer, email, phone := num(1+o*7%12), pick(o, "'5'", "NULL", "'k'"), pick(o, "5", "NULL")
		if o%3 == 0 {
			customer, email, phone = "NULL", pick(o/3, "NULL", "'5'", "NULL", "'x@y'"), pick(o/3, "NULL", "NULL", "5", "7")
		}
		row("orders", num(o), customer, email, phone, pick(o, "'web'", "'shop'", "'web'", "NULL"), num(o*37%1100))
		n := o % 5
		if o == 39 || o == 38 {
			n = 12
		}
		for range n {
			add(num(o))
		}
		row("parcels", num(o), num(o))
	}
	for i := range 8 {
		add(pick(i, "NULL", "99"))
		row("parcels", pick(i, "NULL", "99"), "5")
		row("visits", "NULL", "7")
	}
	for i := 1; i <= 18; i++ {
		customer := num(1 + i%12)
		if i%3 == 0 {
			customer = "NULL"
		}
		row("letters", customer, pick(i/3, "NULL", "'5'", "'x@y'"), num(i*29%700))
	}
	return out
}

// MailUnits remove persons, all rows of an email or of a phone that lead to no person, and orders that have none of them, each with everything that hangs on them.
func MailUnits() (out []Removal) {
	unit := func(name, orders, items string, more ...string) {
		of := fmt.Sprintf("order_id IN (SELECT order_id FROM %s WHERE %s)", mailTable("orders"), orders)
		if items != "" {
			items = " OR " + mailLost + " AND " + items
		}
		out = append(out, Removal{name, append([]string{
			fmt.Sprintf("DELETE FROM %s WHERE %s%s", mailTable("items"), of, items),
			fmt.Sprintf("DELETE FROM %s WHERE %s", mailTable("parcels"), of),
			fmt.Sprintf("DELETE FROM %s WHERE %s", mailTable("orders"), orders)}, more...)})
	}
	for _, c := range []int{2, 3, 5, 9} {
		is := fmt.Sprintf("customer_id = %d", c)
		unit(fmt.Sprintf("customer %d", c), is, "", fmt.Sprintf("DELETE FROM %s WHERE %s", mailTable("visits"), is), fmt.Sprintf("DELETE FROM %s WHERE %s", mailTable("letters"), is),
			fmt.Sprintf("DELETE FROM %s WHERE %s", mailTable("customers"), is))
	}
	for _, e := range []string{"'5'", "'x@y'"} {
		is := "customer_id IS NULL AND email = " + e
		unit("email "+e, is, "email = "+e, fmt.Sprintf("DELETE FROM %s WHERE %s", mailTable("letters"), is))
	}
	unit("phone 5", "customer_id IS NULL AND email IS NULL AND phone = 5", "")
	for _, o := range []int{12, 24} {
		unit(fmt.Sprintf("order %d", o), fmt.Sprintf("order_id = %d AND customer_id IS NULL AND email IS NULL AND phone IS NULL", o), "")
	}
	return out
}

// MailOwnerless removes the rows that are dropped.
func MailOwnerless() []string {
	return []string{fmt.Sprintf("DELETE FROM %s WHERE email IS NULL AND %s", mailTable("items"), mailLost),
		fmt.Sprintf("DELETE FROM %s WHERE %s", mailTable("parcels"), mailLost),
		fmt.Sprintf("DELETE FROM %s WHERE customer_id IS NULL AND email IS NULL", mailTable("letters")),
		fmt.Sprintf("DELETE FROM %s WHERE customer_id IS NULL", mailTable("visits"))}
}

// mailItems are the items that lead to a unit, as plain SQL has them, with the order's unit beside them.
const mailItems = "(select * from (" + mailUnits + ") i where u is not null)"

const mailUnits = `select i.*, case when o.order_id is null then 'c' || i.email when o.customer_id is not null then 'p' || o.customer_id when o.email is not null then 'c' || o.email
	when o.phone is not null then 'f' || o.phone else 'o' || o.order_id end as u from public.items i left join public.orders o on o.order_id = i.order_id`

// MailItemUnits says how many units items of a product have.
const MailItemUnits = "select product, count(distinct u) from (" + mailUnits + ") i where product is not null group by 1"

// mailLetters are the letters that lead to a unit.
const mailLetters = "(select * from letters where customer_id is not null or email is not null)"

// MailStatements have every shape in which a unit is carried.
var MailStatements = []GuestStatement{
	{SQL: "select count(*) from orders"},
	{SQL: "select channel, count(*), sum(least(total, 1000)) from orders group by 1"},
	{SQL: "select count(distinct customer_id), count(customer_id), count(email) from orders"},
	{SQL: "select channel, count(distinct customer_id) from orders group by 1"},
	{SQL: "select count(distinct email) from orders"},
	{SQL: "select email, count(*) from orders where email is not null group by 1"},
	{SQL: "select count(*) from orders where customer_id is null and email = '5'"},
	{SQL: "select count(*), sum(least(price, 500)) from items", Plain: "select count(*), sum(least(price, 500)) from " + mailItems + " i"},
	{SQL: "select product, count(*) from items where product is not null group by 1", Plain: "select product, count(*) from " + mailItems + " i where product is not null group by 1"},
	{SQL: "select count(*) from items i join orders o on o.order_id = i.order_id where o.channel = 'web'"},
	{SQL: "select o.channel, count(*), count(i.price) from orders o left join items i on i.order_id = o.order_id group by 1"},
	{SQL: "select o.channel, count(*) from items i left join orders o on o.order_id = i.order_id group by 1", Plain: "select o.channel, count(*) from " + mailItems + " i left join orders o on o.order_id = i.order_id group by 1"},
	{SQL: "select count(*), sum(greatest(0, least(n, 1000))) from (select order_id, count(*) as n from items where order_id is not null group by 1) t",
		Plain: "select count(*), sum(n) from (select order_id, u, count(*) as n from " + mailItems + " i where order_id is not null group by 1, 2) t"},
	{SQL: "select count(*) from (select o.order_id, sum(i.price) as s from orders o join items i on i.order_id = o.order_id group by 1) t where s > 100"},
	{SQL: "select count(*) from (select o.order_id, o.customer_id, sum(i.price) as s from orders o join items i on i.order_id = o.order_id group by 1, 2) t where s > 100"},
	{SQL: "select count(*), sum(greatest(0, least(n, 1000))) from (select customer_id, count(*) as n from orders group by 1) t where n > 1", Plain: "select count(*), sum(n) from (select customer_id, count(*) as n from orders group by 1) t where customer_id is not null and n > 1"},
	{SQL: "select count(*), sum(greatest(0, least(n, 1000))) from (select customer_id, email, count(*) as n from orders group by 1, 2) t", Plain: "select count(*), sum(n) from (select customer_id, email, count(*) as n from orders group by 1, 2) t where customer_id is not null"},
	{SQL: "select count(*) from orders o where exists (select 1 from items i where i.order_id = o.order_id and i.price > 50)"},
	{SQL: "select count(*) from items i where exists (select 1 from orders o where o.order_id = i.order_id and o.channel = 'web')"},
	{SQL: "select count(*) from items i where (select count(*) from items j where j.order_id = i.order_id) = 3",
		Plain: "select count(*) from items i where (select count(*) from items j join orders o on o.order_id = j.order_id where j.order_id = i.order_id) = 3"},
	{SQL: "select count(*) from items i where (select count(*) from parcels p where p.order_id = i.order_id) = 1",
		Plain: "select count(*) from items i where (select count(*) from parcels p join orders o on o.order_id = p.order_id where p.order_id = i.order_id) = 1"},
	{SQL: "select count(*) from orders o where not exists (select 1 from visits v where v.customer_id = o.customer_id)"},
	{SQL: "select count(*) from orders o where exists (select 1 from letters l where l.customer_id = o.customer_id)"},
	{SQL: "select count(*) from letters l where (select count(*) from orders o where o.customer_id = l.customer_id) = 0", Plain: "select count(*) from " + mailLetters + " l where (select count(*) from orders o where o.customer_id = l.customer_id) = 0"},
	{SQL: "select count(*), sum(words) from letters", Plain: "select count(*), sum(least(words, 600)) from " + mailLetters + " l"},
	{SQL: "select count(*) from orders o join letters l on l.customer_id = o.customer_id"},
	{SQL: "select count(*) from orders o left join letters l on l.customer_id = o.customer_id"},
	{SQL: "select count(*) from letters l left join orders o on l.customer_id = o.customer_id", Plain: "select count(*) from " + mailLetters + " l left join orders o on l.customer_id = o.customer_id"},
	{SQL: "select count(*) from orders o full join letters l on l.customer_id = o.customer_id", Plain: "select count(*) from orders o full join " + mailLetters + " l on l.customer_id = o.customer_id"},
	{SQL: "select count(*), sum(x) from (select least(total, 1000) as x from orders union all select least(price, 500) from items) t", Plain: "select count(*), sum(x) from (select least(total, 1000) as x from orders union all select least(price, 500) from " + mailItems + " i) t"},
	{SQL: "select count(*) from (select customer_id, total from orders union all select customer_id, words from letters) t", Plain: "select count(*) from (select customer_id, total from orders union all select customer_id, words from " + mailLetters + " l) t"},
	{SQL: "select count(distinct customer_id), count(*) from (select customer_id, total from orders union all select customer_id, words from letters) t",
		Plain: "select count(distinct customer_id), count(*) from (select customer_id, total from orders union all select customer_id, words from " + mailLetters + " l) t"},
	{SQL: "select count(*) from (select customer_id from orders union select customer_id from letters) t", Plain: "select count(customer_id) from (select customer_id from orders union select customer_id from letters) t"},
	{SQL: "select count(*) from (select row_number() over (partition by customer_id order by total) as rn, customer_id from orders) t where rn = 1",
		Plain: "select count(*) from (select distinct customer_id, case when customer_id is not null then '' when email is not null then 'c' || email when phone is not null then 'f' || phone else 'o' || order_id end from orders) t"},
	{SQL: "select count(*) from (select row_number() over (partition by order_id order by price) as rn, order_id from items) t where rn = 1 and order_id is not null",
		Plain: "select count(*) from (select distinct order_id, u from " + mailItems + " i where order_id is not null) t"},
	{SQL: "select count(*) from orders o, lateral (select max(price) as m from items i where i.order_id = o.order_id) t where m > 10"},
	{SQL: "select c.city, count(*) from orders o left join customers c on c.customer_id = o.customer_id group by 1"},
	{SQL: "select c.city, count(o.total) from customers c left join orders o on c.customer_id = o.customer_id group by 1"},
	{SQL: "select count(*) from orders o join (select customer_id, count(*) as n from orders group by 1) t on t.customer_id = o.customer_id where n > 1"},
	{SQL: "select count(*) from (select email from orders union select email from letters) t where email is not null"},
	{SQL: "select customer_id is null, count(*) from orders group by 1"},
	{SQL: "select email, count(distinct customer_id) from orders where email is not null group by 1"},
	{SQL: "select count(*) from orders o where o.customer_id in (select l.customer_id from letters l where l.words > 100)"},
	{SQL: "select count(*) from orders o where not exists (select 1 from letters l where l.customer_id = o.customer_id and l.words > 100)"},
	{SQL: "select count(*) from letters l where (select max(total) from orders o where o.customer_id = l.customer_id) > 300"},
	{SQL: "select count(*) from orders a join orders b on a.customer_id = b.customer_id where a.email = '5'"},
	{SQL: "select count(*) from parcels p join orders o on o.order_id = p.order_id"},
	{SQL: "select count(*) from parcels", Plain: "select count(*) from parcels join orders using (order_id)"},
}
