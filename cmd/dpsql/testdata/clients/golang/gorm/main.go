// GORM over pgx: its migrator's reading of the schema, a model's aggregates.
package main

import (
	"errors"
	"fmt"
	"log"
	"os"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
)

// Encounter is a row of encounters, of which no analyst sees one.
type Encounter struct {
	EncounterID, PatientID, Medications int
	Readmitted                          string
}

func main() {
	host, port, _ := strings.Cut(os.Args[1], ":")
	db, err := gorm.Open(postgres.Open(fmt.Sprintf("host=%s port=%s user=analyst password=demo dbname=demo sslmode=disable", host, port)), &gorm.Config{Logger: logger.Discard})
	check(err)
	m := db.Migrator()
	tables, err := m.GetTables()
	check(err)
	slices.Sort(tables)
	fmt.Println("tables:", strings.Join(tables, ", "))
	fmt.Println("has table:", m.HasTable("encounters"), m.HasTable("nothing"), "column:", m.HasColumn("encounters", "drug"), m.HasColumn("prescriptions", "drug"), "index:", m.HasIndex("encounters", "encounters_pkey"))
	types, err := m.ColumnTypes("admission_types")
	check(err)
	for _, c := range types {
		null, _ := c.Nullable()
		key, _ := c.PrimaryKey()
		comment, _ := c.Comment()
		fmt.Println("column:", c.Name(), c.DatabaseTypeName(), null, key, comment)
	}
	var n int64
	check(db.Model(&Encounter{}).Where("medications >= ?", 22).Count(&n).Error)
	fmt.Printf("count: ~%d\n", n)
	var groups []struct {
		Readmitted string
		N          int64
	}
	check(db.Model(&Encounter{}).Select("readmitted, count(*) AS n").Group("readmitted").Order("readmitted").Scan(&groups).Error)
	for _, g := range groups {
		fmt.Printf("group: %s ~%d\n", g.Readmitted, g.N)
	}
	var e *pgconn.PgError
	if err := db.Find(&[]Encounter{}).Error; errors.As(err, &e) {
		fmt.Println("rows:", e.Code, e.Message)
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
