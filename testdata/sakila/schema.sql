-- Sakila's tables as PostgreSQL has them in the jOOQ edition, without the columns that its CSV export leaves out.
CREATE TABLE country (country_id integer PRIMARY KEY, country varchar(50) NOT NULL, last_update timestamp NOT NULL);
CREATE TABLE city (city_id integer PRIMARY KEY, city varchar(50) NOT NULL, country_id integer NOT NULL, last_update timestamp NOT NULL);
CREATE TABLE address (address_id integer PRIMARY KEY, address varchar(50) NOT NULL, address2 varchar(50), district varchar(20), city_id integer NOT NULL,
    postal_code varchar(10), phone varchar(20), last_update timestamp NOT NULL);
CREATE TABLE language (language_id integer PRIMARY KEY, name char(20) NOT NULL, last_update timestamp NOT NULL);
CREATE TABLE actor (actor_id integer PRIMARY KEY, first_name varchar(45) NOT NULL, last_name varchar(45) NOT NULL, last_update timestamp NOT NULL);
CREATE TABLE category (category_id integer PRIMARY KEY, name varchar(25) NOT NULL, last_update timestamp NOT NULL);
CREATE TABLE film (film_id integer PRIMARY KEY, title varchar(255) NOT NULL, description text, release_year integer, language_id integer NOT NULL, original_language_id integer,
    rental_duration smallint NOT NULL, rental_rate numeric(4,2) NOT NULL, length smallint, replacement_cost numeric(5,2) NOT NULL, rating varchar(5), last_update timestamp NOT NULL,
    special_features text[]);
CREATE TABLE film_actor (actor_id integer NOT NULL, film_id integer NOT NULL, last_update timestamp NOT NULL, PRIMARY KEY (actor_id, film_id));
CREATE TABLE film_category (film_id integer NOT NULL, category_id integer NOT NULL, last_update timestamp NOT NULL, PRIMARY KEY (film_id, category_id));
CREATE TABLE staff (staff_id integer PRIMARY KEY, first_name varchar(45) NOT NULL, last_name varchar(45) NOT NULL, address_id integer NOT NULL, email varchar(50), store_id integer NOT NULL,
    active boolean NOT NULL, last_update timestamp NOT NULL);
CREATE TABLE store (store_id integer PRIMARY KEY, manager_staff_id integer NOT NULL, address_id integer NOT NULL, last_update timestamp NOT NULL);
CREATE TABLE customer (customer_id integer PRIMARY KEY, store_id integer NOT NULL, first_name varchar(45) NOT NULL, last_name varchar(45) NOT NULL, email varchar(50), address_id integer NOT NULL,
    activebool boolean NOT NULL, create_date date NOT NULL, last_update timestamp, active integer);
CREATE TABLE inventory (inventory_id integer PRIMARY KEY, film_id integer NOT NULL, store_id integer NOT NULL, last_update timestamp NOT NULL);
CREATE TABLE rental (rental_id integer PRIMARY KEY, rental_date timestamp NOT NULL, inventory_id integer NOT NULL, customer_id integer NOT NULL, return_date timestamp, staff_id integer NOT NULL,
    last_update timestamp NOT NULL);
CREATE TABLE payment (payment_id integer PRIMARY KEY, customer_id integer NOT NULL, staff_id integer NOT NULL, rental_id integer, amount numeric(5,2) NOT NULL, payment_date timestamp NOT NULL);
