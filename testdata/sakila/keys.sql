-- Foreign keys, made after the rows were loaded (store and staff refer to each other).
ALTER TABLE city ADD FOREIGN KEY (country_id) REFERENCES country;
ALTER TABLE address ADD FOREIGN KEY (city_id) REFERENCES city;
ALTER TABLE film ADD FOREIGN KEY (language_id) REFERENCES language, ADD FOREIGN KEY (original_language_id) REFERENCES language;
ALTER TABLE film_actor ADD FOREIGN KEY (actor_id) REFERENCES actor, ADD FOREIGN KEY (film_id) REFERENCES film;
ALTER TABLE film_category ADD FOREIGN KEY (film_id) REFERENCES film, ADD FOREIGN KEY (category_id) REFERENCES category;
ALTER TABLE staff ADD FOREIGN KEY (address_id) REFERENCES address, ADD FOREIGN KEY (store_id) REFERENCES store;
ALTER TABLE store ADD FOREIGN KEY (manager_staff_id) REFERENCES staff, ADD FOREIGN KEY (address_id) REFERENCES address;
ALTER TABLE customer ADD FOREIGN KEY (store_id) REFERENCES store, ADD FOREIGN KEY (address_id) REFERENCES address;
ALTER TABLE inventory ADD FOREIGN KEY (film_id) REFERENCES film, ADD FOREIGN KEY (store_id) REFERENCES store;
ALTER TABLE rental ADD FOREIGN KEY (inventory_id) REFERENCES inventory, ADD FOREIGN KEY (customer_id) REFERENCES customer, ADD FOREIGN KEY (staff_id) REFERENCES staff;
ALTER TABLE payment ADD FOREIGN KEY (customer_id) REFERENCES customer, ADD FOREIGN KEY (staff_id) REFERENCES staff, ADD FOREIGN KEY (rental_id) REFERENCES rental;
