// Package catalog answers statements over PostgreSQL's catalogs, statements for rows of people, and dp_predict. None of
// them reads private rows.
package catalog
