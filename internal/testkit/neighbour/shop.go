package neighbour

// Shop is TPC-H's tables in small, whose rows belong to customers, to suppliers, or to one of each: orders are a customer's, what a supplier offers is a supplier's, and a line of an order is both's.
const Shop = `nations public key=id
  id int4 notnull
  name text notnull
customers kind=customers.id unit=id key=id
  id int4 notnull
  nation_id int4 from=nations.id
  segment text values=AUTO|HOME|null
suppliers kind=suppliers.id unit=id key=id
  id int4 notnull
  nation_id int4 from=nations.id
offers key=part_id,supplier_id path=supplier_id->suppliers.id unit=supplier_id
  part_id int4 notnull
  supplier_id int4 notnull
  cost numeric(10,2) range=0..1000
orders path=customer_id->customers.id unit=customer_id key=id
  id int4 notnull
  customer_id int4
  status text values=F|O|P
lines key=order_id,line path=order_id->orders.id also=part_id,supplier_id->offers.part_id,supplier_id
  order_id int4 notnull
  line int4 notnull
  part_id int4
  supplier_id int4
  quantity int4 range=1..50
  price numeric(12,2) range=0..100000
  tax numeric(4,2) range=-1..1
  weight float8
  mode text values=AIR|RAIL|SHIP
remarks path=order_id,line->lines.order_id,line
  order_id int4 notnull
  line int4 notnull
  stars int4 range=0..5
`
