package main

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/dpsql/dpsql/internal/testkit/bench/baseline"
)

// The invented schemas are of one seed each: every run has the same rows.
const (
	shopSeed  = 20261128
	tripsSeed = 20261129
)

// pick draws one of some words by its weight.
func pick(r *baseline.Random, words []string, weights ...float64) string {
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	x := r.Uniform() * sum
	for i, w := range weights {
		if x -= w; x < 0 {
			return words[i]
		}
	}
	return words[len(words)-1]
}

// pareto is at least 1, with tail exponent a.
func pareto(r *baseline.Random, a float64) float64 { return math.Pow(1-r.Uniform(), -1/a) }

// rank is from 1 to n, the less likely the larger.
func rank(r *baseline.Random, a float64, n int) int {
	for {
		if x := pareto(r, a); x < float64(n+1) {
			return int(x)
		}
	}
}

// lognormal has the median exp(mu).
func lognormal(r *baseline.Random, mu, sigma float64) float64 { return math.Exp(mu + r.Normal(sigma)) }

// shares gives whole numbers that sum to n, in proportion to Pareto weights, each at most most.
func shares(r *baseline.Random, people, n int, a, most float64) []int {
	weights, sum := make([]float64, people), 0.0
	for i := range weights {
		weights[i] = pareto(r, a)
		sum += weights[i]
	}
	out := make([]int, people)
	for left := n; left > 0; {
		before := left
		for i := range out {
			take := min(int(weights[i]/sum*float64(n)+r.Uniform()), left, int(most)-out[i])
			out[i], left = out[i]+take, left-take
		}
		if left == before {
			break
		}
	}
	return out
}

const day = 24 * time.Hour

var (
	channels  = []string{"web", "app", "phone", "store"}
	statuses  = []string{"delivered", "shipped", "paid", "new", "cancelled", "returned", "lost"}
	segments  = []string{"private", "business", "student", "vip"}
	countries = []string{"DE", "FR", "AT", "CH", "NL", "PL", "IT", "ES", "DK", "SE", "BE", "CZ", "LU", "PT", "FI", "IE", "LI", "MT"}
	devices   = []string{"phone", "desktop", "tablet", "watch", "tv"}
)

// loadShop makes 50,000 customers with 168,000 orders, of which 7 % have no customer.
func loadShop(b *bench, db string) error {
	r := baseline.Seeded(shopSeed)
	const people, orders, products = 50_000, 168_000, 900
	begin := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	var customers, goods, bought, items, views strings.Builder
	for i := 1; i <= people; i++ {
		born := fmt.Sprint(1940 + r.Below(66))
		if r.Uniform() < 0.2 {
			born = ""
		}
		country := countries[rank(r, 0.9, len(countries))-1]
		fmt.Fprintf(&customers, "%d,%s,%s,%s,%s,%t\n", i, country, pick(r, segments, 70, 20, 9, 1), begin.Add(-time.Duration(r.Below(1500))*day).Format("2006-01-02"), born, r.Uniform() < 0.4)
	}
	for i := 1; i <= products; i++ {
		fmt.Fprintf(&goods, "%d,cat%02d,%.2f\n", i, rank(r, 0.7, 24), lognormal(r, 3, 0.9))
	}
	each, order, item := shares(r, people, orders*93/100, 1.7, 250), 0, 0
	buy := func(customer string) {
		order++
		at := begin.Add(time.Duration(r.Uniform() * float64(365*day)))
		if at.Weekday() == time.Friday || r.Uniform() < 0.02 { // Friday nights
			at = at.Truncate(day).Add(time.Duration(17+r.Below(7)) * time.Hour).Add(time.Duration(r.Below(3600)) * time.Second)
		}
		coupon, shipped := "", ""
		if r.Uniform() < 0.18 {
			coupon = fmt.Sprintf("C%03d", rank(r, 0.5, 120))
		}
		if r.Uniform() < 0.85 {
			shipped = at.Add(time.Duration(r.Below(9*24)+3) * time.Hour).Format("2006-01-02 15:04:05")
		}
		total := 0.0
		for n := 1 + int(math.Min(11, lognormal(r, 0, 0.8))); n > 0; n-- {
			item++
			quantity, price := 1+int(math.Min(30, pareto(r, 2.2)-1)), math.Round(lognormal(r, 3, 0.9)*100)/100
			total += float64(quantity) * price
			fmt.Fprintf(&items, "%d,%d,%d,%d,%.2f\n", item, order, rank(r, 0.3, products), quantity, price)
		}
		paid := total + 4.9 // no range is declared: there are orders of far more than 5,000
		if coupon != "" {
			paid *= 0.9
		}
		fmt.Fprintf(&bought, "%d,%s,%s,%s,%s,%s,%s,%.2f,%.2f,%s\n", order, customer, at.Format("2006-01-02 15:04:05"), pick(r, statuses, 420, 200, 110, 90, 110, 60, 10), pick(r, channels, 55, 30, 10, 5), coupon,
			[]string{"EUR", "CHF"}[r.Below(20)/19], math.Min(total, 5000), paid, shipped)
	}
	for i, n := range each {
		for range n {
			buy(fmt.Sprint(i + 1))
		}
	}
	for order < orders {
		buy("")
	}
	view := 0
	for i, n := range shares(r, people, 220_000, 1.3, 1200) {
		device := pick(r, devices, 60, 30, 8, 1, 1)
		for range n {
			view++
			on := device
			if r.Uniform() < 0.2 {
				on = pick(r, devices, 60, 30, 8, 1, 1)
			}
			customer := fmt.Sprint(i + 1)
			if r.Uniform() < 0.15 {
				customer = ""
			}
			fmt.Fprintf(&views, "%d,%s,%s,/p%d,%s,%d\n", view, customer, begin.Add(time.Duration(r.Uniform()*float64(90*day))).Format("2006-01-02 15:04:05"), rank(r, 0.5, 400), on, int(math.Min(7200, lognormal(r, 3, 1.3))))
		}
	}
	return b.copied(db, []copied{
		{"customers", `customer_id integer PRIMARY KEY, country text NOT NULL, segment text NOT NULL CHECK (segment IN ('private', 'business', 'student', 'vip')), joined date NOT NULL, birth_year integer, newsletter boolean NOT NULL`, customers.String()},
		{"products", `product_id integer PRIMARY KEY, category text NOT NULL, list_price numeric(10,2) NOT NULL`, goods.String()},
		{"orders", `order_id integer PRIMARY KEY, customer_id integer, ordered_at timestamp NOT NULL,
			status text NOT NULL CHECK (status IN ('delivered', 'shipped', 'paid', 'new', 'cancelled', 'returned', 'lost')), channel text NOT NULL CHECK (channel IN ('web', 'app', 'phone', 'store')),
			coupon text, currency char(3) NOT NULL, total numeric(10,2) NOT NULL CHECK (total BETWEEN 0 AND 5000), paid numeric(10,2) NOT NULL, shipped_at timestamp`, bought.String()},
		{"order_items", `item_id integer PRIMARY KEY, order_id integer NOT NULL, product_id integer NOT NULL, quantity integer NOT NULL, price numeric(10,2) NOT NULL`, items.String()},
		{"page_views", `view_id integer PRIMARY KEY, customer_id integer, viewed_at timestamp NOT NULL, path text NOT NULL, device text NOT NULL, seconds integer NOT NULL`, views.String()},
	}, `ALTER TABLE orders ADD FOREIGN KEY (customer_id) REFERENCES customers; ALTER TABLE order_items ADD FOREIGN KEY (order_id) REFERENCES orders, ADD FOREIGN KEY (product_id) REFERENCES products;
		ALTER TABLE page_views ADD FOREIGN KEY (customer_id) REFERENCES customers`)
}

// loadTrips makes 12,000 riders with 180,000 trips between 260 zones; one has 464, few have incidents.
func loadTrips(b *bench, db string) error {
	r := baseline.Seeded(tripsSeed)
	const people, trips, places = 12_000, 180_000, 260
	begin := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	var riders, zones, rides, incidents strings.Builder
	for i := 1; i <= places; i++ {
		fmt.Fprintf(&zones, "%d,zone %d,%s\n", i, i, []string{"centre", "north", "east", "south", "west", "airport"}[r.Below(6)])
	}
	each := shares(r, people, trips-464, 1.5, 380)
	each[r.Below(people)] = 464
	trip, incident := 0, 0
	for i, n := range each {
		year := fmt.Sprint(1950 + r.Below(58))
		if r.Uniform() < 0.1 {
			year = ""
		}
		fmt.Fprintf(&riders, "%d,%s,%s,%s\n", i+1, pick(r, []string{"none", "day", "month", "year"}, 60, 15, 20, 5), year, begin.Add(-time.Duration(r.Below(900))*day).Format("2006-01-02"))
		home := rank(r, 0.2, places)
		for range n {
			trip++
			from, to := rank(r, 0.3, places), rank(r, 0.3, places)
			if r.Uniform() < 0.5 {
				from = home
			}
			km := math.Min(400, lognormal(r, 1.2, 0.9))
			at := begin.Add(time.Duration(r.Below(365))*day + time.Duration(math.Mod(math.Abs(13+r.Normal(5)), 24)*float64(time.Hour)))
			rating := fmt.Sprint(1 + max(0, int(5-pareto(r, 2.5))))
			if r.Uniform() < 0.55 {
				rating = ""
			}
			fmt.Fprintf(&rides, "%d,%d,%s,%d,%d,%.2f,%d,%.2f,%.2f,%s,%s,%d\n", trip, i+1, at.Format("2006-01-02 15:04:05"), from, to, km, int(km*lognormal(r, 4.8, 0.4)), 2+km*1.4+lognormal(r, 0, 1), math.Max(0, lognormal(r, 0, 1.1)-1),
				pick(r, []string{"card", "cash", "voucher", "app"}, 55, 12, 3, 30), rating, 1+int(math.Min(5, pareto(r, 2)-1)))
			if r.Uniform() < 0.004 {
				incident++
				fmt.Fprintf(&incidents, "%d,%d,%s,%.2f\n", incident, trip, pick(r, []string{"damage", "lost item", "accident", "dispute"}, 30, 40, 5, 25), lognormal(r, 4, 1.6))
			}
		}
	}
	return b.copied(db, []copied{
		{"riders", `rider_id integer PRIMARY KEY, pass text NOT NULL CHECK (pass IN ('none', 'day', 'month', 'year')), birth_year integer, joined date NOT NULL`, riders.String()},
		{"zones", `zone_id integer PRIMARY KEY, name text NOT NULL, area text NOT NULL`, zones.String()},
		{"trips", `trip_id integer PRIMARY KEY, rider_id integer NOT NULL, started_at timestamp NOT NULL, pickup_zone integer NOT NULL, dropoff_zone integer NOT NULL, km numeric(8,2) NOT NULL, seconds integer NOT NULL,
			fare numeric(8,2) NOT NULL, tip numeric(8,2) NOT NULL, payment text NOT NULL, rating integer CHECK (rating BETWEEN 1 AND 5), passengers integer NOT NULL`, rides.String()},
		{"incidents", `incident_id integer PRIMARY KEY, trip_id integer NOT NULL, kind text NOT NULL, cost numeric(10,2) NOT NULL`, incidents.String()},
	}, `ALTER TABLE trips ADD FOREIGN KEY (rider_id) REFERENCES riders, ADD FOREIGN KEY (pickup_zone) REFERENCES zones, ADD FOREIGN KEY (dropoff_zone) REFERENCES zones;
		ALTER TABLE incidents ADD FOREIGN KEY (trip_id) REFERENCES trips`)
}
