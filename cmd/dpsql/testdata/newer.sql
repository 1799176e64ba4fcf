-- Statements over the catalogs in the style of clients that are newer than those captured, written for this test: each client's relations, functions and forms. One statement a paragraph, under its client.

-- psql 17: \d table, columns
SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod),
  (SELECT pg_catalog.pg_get_expr(d.adbin, d.adrelid, true) FROM pg_catalog.pg_attrdef d WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum AND a.atthasdef),
  a.attnotnull, (SELECT c.collname FROM pg_catalog.pg_collation c, pg_catalog.pg_type t WHERE c.oid = a.attcollation AND t.oid = a.atttypid AND a.attcollation <> t.typcollation) AS attcollation,
  a.attidentity, a.attgenerated, a.attstorage, a.attcompression AS attcompression,
  CASE WHEN a.attstattarget = -1 THEN NULL ELSE a.attstattarget END AS attstattarget, pg_catalog.col_description(a.attrelid, a.attnum)
FROM pg_catalog.pg_attribute a WHERE a.attrelid = 'public.encounters'::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum;

-- psql 17: \d table, indexes
SELECT c2.relname, i.indisprimary, i.indisunique, i.indisclustered, i.indisvalid, pg_catalog.pg_get_indexdef(i.indexrelid, 0, true), pg_catalog.pg_get_constraintdef(con.oid, true), contype, condeferrable, condeferred, i.indisreplident, c2.reltablespace, false AS conperiod
FROM pg_catalog.pg_class c, pg_catalog.pg_class c2, pg_catalog.pg_index i LEFT JOIN pg_catalog.pg_constraint con ON (conrelid = i.indrelid AND conindid = i.indexrelid AND contype IN ('p','u','x'))
WHERE c.oid = 'encounters'::regclass AND c.oid = i.indrelid AND i.indexrelid = c2.oid ORDER BY i.indisprimary DESC, c2.relname;

-- psql 17: \d table, publications
SELECT pubname, NULL, NULL FROM pg_catalog.pg_publication p JOIN pg_catalog.pg_publication_namespace pn ON p.oid = pn.pnpubid JOIN pg_catalog.pg_class pc ON pc.relnamespace = pn.pnnspid WHERE pc.oid = 'patients'::regclass AND pg_catalog.pg_relation_is_publishable('patients'::regclass)
UNION SELECT pubname, pg_get_expr(pr.prqual, c.oid), (CASE WHEN pr.prattrs IS NOT NULL THEN (SELECT string_agg(attname, ', ') FROM pg_catalog.generate_series(0, pg_catalog.array_upper(pr.prattrs::pg_catalog.int2[], 1)) s, pg_catalog.pg_attribute WHERE attrelid = pr.prrelid AND attnum = prattrs[s]) ELSE NULL END)
FROM pg_catalog.pg_publication p JOIN pg_catalog.pg_publication_rel pr ON p.oid = pr.prpubid JOIN pg_catalog.pg_class c ON c.oid = pr.prrelid WHERE pr.prrelid = 'patients'::regclass
UNION SELECT pubname, NULL, NULL FROM pg_catalog.pg_publication p WHERE p.puballtables AND pg_catalog.pg_relation_is_publishable('patients'::regclass) ORDER BY 1;

-- psql 16: \drg
SELECT m.rolname AS "Role name", r.rolname AS "Member of", pg_catalog.concat_ws(', ', CASE WHEN pam.admin_option THEN 'ADMIN' END, CASE WHEN m.rolinherit THEN 'INHERIT' END, 'SET') AS "Options", g.rolname AS "Grantor"
FROM pg_catalog.pg_roles m JOIN pg_catalog.pg_auth_members pam ON (pam.member = m.oid) LEFT JOIN pg_catalog.pg_roles r ON (pam.roleid = r.oid) LEFT JOIN pg_catalog.pg_roles g ON (pam.grantor = g.oid) WHERE r.rolname IS NOT NULL ORDER BY 1, 2, 4;

-- psql 17: \dconfig
SELECT s.name AS "Parameter", CASE WHEN s.unit = '8kB' THEN s.setting || 'x' ELSE pg_catalog.current_setting(s.name) END AS "Value" FROM pg_catalog.pg_settings s WHERE s.name IN ('search_path', 'bytea_output') ORDER BY 1;

-- psql 17: \df+
SELECT n.nspname AS "Schema", p.proname AS "Name", pg_catalog.pg_get_function_result(p.oid) AS "Result", pg_catalog.pg_get_function_arguments(p.oid) AS "Arguments",
  CASE p.prokind WHEN 'a' THEN 'agg' WHEN 'w' THEN 'window' WHEN 'p' THEN 'proc' ELSE 'func' END AS "Type", CASE WHEN p.provolatile = 'i' THEN 'immutable' WHEN p.provolatile = 's' THEN 'stable' ELSE 'volatile' END AS "Volatility",
  CASE WHEN prosecdef THEN 'definer' ELSE 'invoker' END AS "Security", l.lanname AS "Language", CASE WHEN l.lanname IN ('internal', 'c') THEN p.prosrc END AS "Internal name", pg_catalog.obj_description(p.oid, 'pg_proc') AS "Description"
FROM pg_catalog.pg_proc p LEFT JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace LEFT JOIN pg_catalog.pg_language l ON l.oid = p.prolang
WHERE p.proname OPERATOR(pg_catalog.~) '^(array_.*)$' COLLATE pg_catalog.default AND pg_catalog.pg_function_is_visible(p.oid) ORDER BY 1, 2, 4;

-- psql 18: \dx
SELECT e.extname AS "Name", e.extversion AS "Version", n.nspname AS "Schema", d.description AS "Description"
FROM pg_catalog.pg_extension e LEFT JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace LEFT JOIN pg_catalog.pg_description d ON d.objoid = e.oid AND d.classoid = 'pg_catalog.pg_extension'::pg_catalog.regclass ORDER BY 1;

-- psql 17: completion of columns
SELECT attname FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = a.attrelid WHERE a.attnum > 0 AND NOT a.attisdropped AND (attname) LIKE 'p%' AND pg_catalog.quote_ident(c.relname) = 'patients' AND pg_catalog.pg_table_is_visible(c.oid)
UNION ALL SELECT NULL::pg_catalog.text LIMIT 1000;

-- pgAdmin 9: databases
SELECT db.oid AS did, db.oid, db.datname AS name, db.dattablespace AS spcoid, spcname, datallowconn, datistemplate AS is_template, pg_catalog.pg_get_userbyid(datdba) AS datowner, datdba AS datoid, datdba = (SELECT oid FROM pg_roles WHERE rolname = current_user) AS mine, descr.description
FROM pg_catalog.pg_database db LEFT OUTER JOIN pg_catalog.pg_tablespace ta ON db.dattablespace = ta.oid LEFT OUTER JOIN pg_catalog.pg_shdescription descr ON (db.oid = descr.objoid AND descr.classoid = 'pg_database'::regclass) WHERE db.oid > 5::OID OR db.datname IN ('postgres') ORDER BY datname;

-- pgAdmin 9: tables of a schema
SELECT rel.oid, rel.relname AS name, (SELECT count(*) FROM pg_catalog.pg_trigger WHERE tgrelid = rel.oid AND tgisinternal = FALSE) AS triggercount,
  (SELECT count(*) FROM pg_catalog.pg_trigger WHERE tgrelid = rel.oid AND tgisinternal = FALSE AND tgenabled = 'O') AS has_enable_triggers, (CASE WHEN rel.relkind = 'p' THEN true ELSE false END) AS is_partitioned,
  (SELECT count(1) FROM pg_catalog.pg_inherits WHERE inhrelid = rel.oid LIMIT 1) AS is_inherits, (SELECT count(1) FROM pg_catalog.pg_inherits WHERE inhparent = rel.oid LIMIT 1) AS is_inherited, des.description
FROM pg_catalog.pg_class rel LEFT OUTER JOIN pg_catalog.pg_description des ON (des.objoid = rel.oid AND des.objsubid = 0 AND des.classoid = 'pg_class'::regclass) WHERE rel.relkind IN ('r','s','t','p') AND rel.relnamespace = 2200::oid AND NOT rel.relispartition ORDER BY rel.relname;

-- pgAdmin 9: columns with what they depend on
SELECT att.attname AS name, att.attnum AS "position", att.*, def.*, pg_catalog.pg_get_expr(def.adbin, def.adrelid) AS defval, CASE WHEN att.attndims > 0 THEN 1 ELSE 0 END AS isarray, pg_catalog.format_type(ty.oid, NULL) AS typname, pg_catalog.format_type(ty.oid, att.atttypmod) AS displaytypname,
  CASE WHEN length(coll.collname::text) > 0 AND length(nspc.nspname::text) > 0 THEN pg_catalog.concat(pg_catalog.quote_ident(nspc.nspname), '.', pg_catalog.quote_ident(coll.collname)) ELSE '' END AS collspcname,
  EXISTS (SELECT 1 FROM pg_catalog.pg_constraint WHERE conrelid = att.attrelid AND contype = 'f' AND att.attnum = ANY (conkey)) AS isfk, (SELECT count(1) FROM pg_catalog.pg_type t2 WHERE t2.typname = ty.typname) > 1 AS isdup
FROM pg_catalog.pg_attribute att JOIN pg_catalog.pg_type ty ON ty.oid = atttypid LEFT OUTER JOIN pg_catalog.pg_attrdef def ON adrelid = att.attrelid AND adnum = att.attnum LEFT OUTER JOIN pg_catalog.pg_collation coll ON att.attcollation = coll.oid LEFT OUTER JOIN pg_catalog.pg_namespace nspc ON coll.collnamespace = nspc.oid
WHERE att.attrelid = 'patients'::regclass::oid AND att.attnum > 0 AND att.attisdropped IS FALSE ORDER BY att.attnum;

-- pgAdmin 9: indexes that no constraint has
SELECT DISTINCT ON (cls.relname) cls.oid, cls.relname AS name, (SELECT (CASE WHEN count(i.inhrelid) > 0 THEN true ELSE false END) FROM pg_inherits i WHERE i.inhrelid = cls.oid) AS is_inherited, des.description
FROM pg_catalog.pg_index idx JOIN pg_catalog.pg_class cls ON cls.oid = indexrelid JOIN pg_catalog.pg_class tab ON tab.oid = indrelid JOIN pg_catalog.pg_namespace n ON n.oid = tab.relnamespace
LEFT JOIN pg_catalog.pg_depend dep ON (dep.classid = cls.tableoid AND dep.objid = cls.oid AND dep.refobjsubid = '0' AND dep.refclassid = (SELECT oid FROM pg_catalog.pg_class WHERE relname = 'pg_constraint') AND dep.deptype = 'i')
LEFT OUTER JOIN pg_catalog.pg_constraint con ON (con.tableoid = dep.refclassid AND con.oid = dep.refobjid) LEFT OUTER JOIN pg_catalog.pg_description des ON (des.objoid = cls.oid AND des.classoid = 'pg_class'::regclass)
WHERE indrelid = 'encounters'::regclass AND conname IS NULL ORDER BY cls.relname;

-- pgAdmin 9: what depends on a table
SELECT DISTINCT dep.deptype, dep.refclassid::regclass, cl.relkind, ad.attname, CASE WHEN cl.relkind IS NOT NULL THEN cl.relkind || COALESCE(dep.refobjsubid::text, '') WHEN tg.oid IS NOT NULL THEN 'Tr' WHEN ty.oid IS NOT NULL THEN CASE WHEN ty.typtype = 'd' THEN 'd' ELSE 'y' END WHEN ns.oid IS NOT NULL THEN 'n' WHEN co.oid IS NOT NULL THEN 'C' || contype ELSE '' END AS type,
  COALESCE(coc.relname, clrw.relname) AS ownertable, COALESCE(cl.relname, co.conname, ty.typname, ns.nspname) AS refname
FROM pg_catalog.pg_depend dep LEFT JOIN pg_catalog.pg_class cl ON dep.objid = cl.oid LEFT JOIN pg_catalog.pg_attribute ad ON dep.objid = ad.attrelid AND dep.objsubid = ad.attnum LEFT JOIN pg_catalog.pg_type ty ON dep.objid = ty.oid LEFT JOIN pg_catalog.pg_namespace ns ON dep.objid = ns.oid
  LEFT JOIN pg_catalog.pg_constraint co ON dep.objid = co.oid LEFT JOIN pg_catalog.pg_class coc ON co.conrelid = coc.oid LEFT JOIN pg_catalog.pg_trigger tg ON dep.objid = tg.oid LEFT JOIN pg_catalog.pg_rewrite rw ON dep.objid = rw.oid LEFT JOIN pg_catalog.pg_class clrw ON clrw.oid = rw.ev_class
WHERE dep.refobjid = 'patients'::regclass::oid AND dep.classid IN (SELECT oid FROM pg_catalog.pg_class WHERE relname IN ('pg_constraint', 'pg_type', 'pg_trigger')) ORDER BY refname;

-- pgAdmin 9: foreign keys with both sides' columns
SELECT ct.oid, conname AS name, nl.nspname AS fknsp, cl.relname AS fktab, nr.nspname AS refnsp, cr.relname AS reftab, ARRAY(SELECT attname FROM unnest(conkey) WITH ORDINALITY k(num, ord) JOIN pg_catalog.pg_attribute ON attrelid = conrelid AND attnum = k.num ORDER BY k.ord) AS own,
  (SELECT array_agg(a.attname ORDER BY k.ord) FROM unnest(ct.confkey) WITH ORDINALITY AS k(num, ord), pg_catalog.pg_attribute a WHERE a.attrelid = ct.confrelid AND a.attnum = k.num) AS theirs, NOT convalidated AS convalidated, confmatchtype, pg_catalog.pg_get_constraintdef(ct.oid, true) AS definition
FROM pg_catalog.pg_constraint ct JOIN pg_catalog.pg_class cl ON cl.oid = conrelid JOIN pg_catalog.pg_namespace nl ON nl.oid = cl.relnamespace JOIN pg_catalog.pg_class cr ON cr.oid = confrelid JOIN pg_catalog.pg_namespace nr ON nr.oid = cr.relnamespace WHERE contype = 'f' AND conrelid = 'encounters'::regclass ORDER BY conname;

-- pgAdmin 9: dashboard
SELECT 'session_stats' AS chart_name, pg_catalog.row_to_json(t) AS chart_data FROM (SELECT (SELECT count(*) FROM pg_catalog.pg_database WHERE datname = 'nothing') AS "Total", (SELECT count(*) FROM pg_catalog.pg_class WHERE relname = 'patients') AS "Active", NULL::int AS "Idle") t
UNION ALL SELECT 'bi_stats' AS chart_name, pg_catalog.row_to_json(t) AS chart_data FROM (SELECT 1 AS "Reads", 'a "b"' AS "Hits", true AS "On") t;

-- pgAdmin 9: what may be done
SELECT roles.oid AS id, roles.rolname AS name, roles.rolsuper AS is_superuser, CASE WHEN roles.rolsuper THEN true ELSE roles.rolcreaterole END AS can_create_role, CASE WHEN roles.rolsuper THEN true ELSE roles.rolcreatedb END AS can_create_db,
  CASE WHEN 'pg_signal_backend' = ANY (ARRAY(WITH RECURSIVE cte AS (SELECT pg_roles.oid, pg_roles.rolname FROM pg_roles WHERE pg_roles.oid = roles.oid UNION ALL SELECT m.roleid, pgr.rolname FROM cte cte_1 JOIN pg_auth_members m ON m.member = cte_1.oid JOIN pg_roles pgr ON pgr.oid = m.roleid) SELECT rolname FROM cte)) THEN true ELSE false END AS can_signal_backend
FROM pg_catalog.pg_roles AS roles WHERE rolname = current_user;

-- DBeaver 25: schemas
SELECT n.oid, n.*, d.description FROM pg_catalog.pg_namespace n LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid = n.oid AND d.objsubid = 0 AND d.classoid = 'pg_namespace'::regclass WHERE n.nspname = 'public' ORDER BY nspname;

-- DBeaver 25: constraints and their columns
SELECT c.oid, c.*, t.relname AS tabrelname, rt.relnamespace AS refnamespace, d.description, CASE WHEN c.contype = 'c' THEN "substring"(pg_get_constraintdef(c.oid), 7) ELSE NULL END AS consrc_copy
FROM pg_catalog.pg_constraint c INNER JOIN pg_catalog.pg_class t ON t.oid = c.conrelid LEFT OUTER JOIN pg_catalog.pg_class rt ON rt.oid = c.confrelid LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid = c.oid AND d.objsubid = 0 AND d.classoid = 'pg_constraint'::regclass WHERE c.conrelid = 'patients'::regclass AND c.contype = 'p' ORDER BY c.oid;

-- DBeaver 25: indexes
SELECT i.*, i.indkey AS keys, c.relname, c.relnamespace, c.relam, c.reltablespace, tc.relname AS tabrelname, dsc.description, pg_catalog.pg_get_expr(i.indpred, i.indrelid) AS pred_expr, pg_catalog.pg_get_expr(i.indexprs, i.indrelid, true) AS expr, pg_catalog.pg_relation_size(i.indexrelid) AS index_rel_size, pg_catalog.pg_stat_get_numscans(i.indexrelid) AS index_num_scans
FROM pg_catalog.pg_index i INNER JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid INNER JOIN pg_catalog.pg_class tc ON tc.oid = i.indrelid LEFT OUTER JOIN pg_catalog.pg_description dsc ON i.indexrelid = dsc.objoid WHERE i.indrelid = 'encounters'::regclass ORDER BY tabrelname, c.relname;

-- DBeaver 25: types with their categories
SELECT t.oid, t.typname, t.typtype, t.typcategory, c.relkind, format_type(nullif(t.typbasetype, 0), t.typtypmod) AS base_type_name, d.description FROM pg_catalog.pg_type t LEFT OUTER JOIN pg_catalog.pg_type et ON et.oid = t.typelem LEFT OUTER JOIN pg_catalog.pg_class c ON c.oid = t.typrelid LEFT OUTER JOIN pg_catalog.pg_description d ON t.oid = d.objoid
WHERE t.typname IS NOT NULL AND (c.relkind IS NULL OR c.relkind = 'c') AND (et.typcategory IS NULL OR et.typcategory <> 'C') AND t.oid < 12000 ORDER BY t.oid;

-- DBeaver 25: statistics of tables
SELECT c.oid, pg_catalog.pg_total_relation_size(c.oid) AS total_rel_size, pg_catalog.pg_relation_size(c.oid) AS rel_size FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND pg_total_relation_size(c.oid) < 10000;

-- DBeaver 25: settings with their units and bounds
SELECT s.name, s.setting, s.unit, s.category, s.short_desc, s.extra_desc, s.context, s.vartype, s.source, s.min_val, s.max_val, s.enumvals, s.boot_val, s.reset_val, s.sourcefile, s.sourceline, s.pending_restart, current_setting(s.name) AS shown FROM pg_catalog.pg_settings s
WHERE s.name IN ('work_mem', 'bytea_output', 'wal_writer_delay', 'autovacuum_naptime', 'enable_hashjoin', 'random_page_cost', 'is_superuser', 'role', 'data_directory', 'transaction_isolation') ORDER BY 1;

-- DBeaver 25: the folder of the data
SELECT pg_catalog.current_setting('data_directory', true);

-- Npgsql 9: types
SELECT n.nspname, t.oid, t.typname, k.kind, t.typnotnull, k.inner_oid FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace LEFT JOIN pg_proc receive ON receive.oid = t.typreceive LEFT JOIN pg_range r ON r.rngtypid = t.oid LEFT JOIN pg_class c ON c.oid = t.typrelid
CROSS JOIN LATERAL (SELECT CASE WHEN receive.proname = 'array_recv' THEN 'a' ELSE t.typtype END AS kind, CASE WHEN receive.proname = 'array_recv' THEN t.typelem WHEN t.typtype = 'r' THEN r.rngsubtype WHEN t.typtype = 'm' THEN (SELECT rngtypid FROM pg_range WHERE rngmultitypid = t.oid) WHEN t.typtype = 'd' THEN t.typbasetype END AS inner_oid) k
WHERE t.typtype IN ('b', 'r', 'm', 'e', 'd') AND (t.typelem = 0 OR EXISTS (SELECT FROM pg_type e WHERE e.oid = t.typelem AND e.typtype <> 'c')) OR t.typtype = 'c' AND c.relkind = 'c' ORDER BY array_position(ARRAY['b', 'e', 'p', 'r', 'm', 'c', 'd', 'a'], k.kind::text), t.oid;

-- Npgsql 9: schema of a reader's columns
SELECT nspname, relname, attname, attnum, typ.oid AS typoid, atttypmod, attnotnull, CASE WHEN attidentity = 'd' THEN true WHEN attgenerated <> '' THEN NULL ELSE (pg_column_is_updatable(cls.oid, attnum, true) = false) END AS isreadonly, EXISTS (SELECT * FROM pg_index WHERE pg_index.indrelid = cls.oid AND pg_index.indisprimary AND attnum = ANY (indkey)) AS isprimarykey,
  EXISTS (SELECT * FROM pg_index WHERE pg_index.indrelid = cls.oid AND pg_index.indisunique AND pg_index.indnkeyatts = 1 AND attnum = pg_index.indkey[0]) AS isunique
FROM pg_attribute AS attr JOIN pg_type AS typ ON attr.atttypid = typ.oid JOIN pg_class AS cls ON cls.oid = attr.attrelid JOIN pg_namespace AS ns ON ns.oid = cls.relnamespace LEFT OUTER JOIN pg_attrdef AS attrdef ON attrdef.adrelid = attr.attrelid AND attrdef.adnum = attr.attnum
WHERE atttypid <> 0 AND relkind IN ('r', 'v', 'm') AND NOT attisdropped AND nspname NOT IN ('pg_catalog', 'information_schema') AND attnum > 0 AND (cls.relname = 'patients' AND attr.attnum IN (1, 2, 3)) ORDER BY attnum;

-- SQLAlchemy 2.1: columns of many tables at once
SELECT pg_catalog.pg_attribute.attname AS name, pg_catalog.format_type(pg_catalog.pg_attribute.atttypid, pg_catalog.pg_attribute.atttypmod) AS format_type,
  (SELECT pg_catalog.pg_get_expr(pg_catalog.pg_attrdef.adbin, pg_catalog.pg_attrdef.adrelid) AS pg_get_expr_1 FROM pg_catalog.pg_attrdef WHERE pg_catalog.pg_attrdef.adrelid = pg_catalog.pg_attribute.attrelid AND pg_catalog.pg_attrdef.adnum = pg_catalog.pg_attribute.attnum AND pg_catalog.pg_attribute.atthasdef) AS "default",
  pg_catalog.pg_attribute.attnotnull AS not_null, pg_catalog.pg_class.relname AS table_name, pg_catalog.pg_description.description AS comment, pg_catalog.pg_attribute.attgenerated AS generated,
  (SELECT json_build_object('always', pg_catalog.pg_attribute.attidentity = 'a', 'start', pg_catalog.pg_sequence.seqstart, 'increment', pg_catalog.pg_sequence.seqincrement, 'cycle', pg_catalog.pg_sequence.seqcycle) AS json_build_object_1 FROM pg_catalog.pg_sequence
    WHERE pg_catalog.pg_attribute.attidentity != '' AND pg_catalog.pg_sequence.seqrelid = CAST(CAST(pg_catalog.pg_get_serial_sequence(CAST(CAST(pg_catalog.pg_attribute.attrelid AS REGCLASS) AS TEXT), pg_catalog.pg_attribute.attname) AS REGCLASS) AS OID)) AS identity_options,
  (SELECT CASE WHEN pg_catalog.pg_collation.collprovider = 'd' THEN NULL ELSE pg_catalog.pg_collation.collname END FROM pg_catalog.pg_collation WHERE pg_catalog.pg_collation.oid = pg_catalog.pg_attribute.attcollation) AS collation
FROM pg_catalog.pg_class LEFT OUTER JOIN pg_catalog.pg_attribute ON pg_catalog.pg_class.oid = pg_catalog.pg_attribute.attrelid AND pg_catalog.pg_attribute.attnum > 0 AND NOT pg_catalog.pg_attribute.attisdropped
  LEFT OUTER JOIN pg_catalog.pg_description ON pg_catalog.pg_description.objoid = pg_catalog.pg_attribute.attrelid AND pg_catalog.pg_description.objsubid = pg_catalog.pg_attribute.attnum AND pg_catalog.pg_description.classoid = CAST('pg_catalog.pg_class' AS REGCLASS)
  JOIN pg_catalog.pg_namespace ON pg_catalog.pg_namespace.oid = pg_catalog.pg_class.relnamespace
WHERE pg_catalog.pg_class.relkind = ANY (ARRAY['r', 'p', 'f', 'v', 'm']) AND pg_catalog.pg_table_is_visible(pg_catalog.pg_class.oid) AND pg_catalog.pg_namespace.nspname != 'pg_catalog' AND pg_catalog.pg_class.relname IN ('patients', 'encounters') ORDER BY pg_catalog.pg_class.relname, pg_catalog.pg_attribute.attnum;

-- SQLAlchemy 2.1: keys of many tables at once
SELECT attr.conrelid, array_agg(CAST(attr.attname AS TEXT) ORDER BY attr.ord) AS cols, attr.conname, min(attr.description) AS description, min(attr.indnkeyatts) AS indnkeyatts, bool_and(attr.indnullsnotdistinct) AS indnullsnotdistinct
FROM (SELECT con.conrelid AS conrelid, con.conname AS conname, con.conindid AS conindid, con.description AS description, con.ord AS ord, con.indnkeyatts, con.indnullsnotdistinct, pg_catalog.pg_attribute.attname AS attname
  FROM pg_catalog.pg_attribute JOIN (SELECT c.conrelid, c.conname, c.conindid, unnest(c.conkey) AS attnum, generate_subscripts(c.conkey, 1) AS ord, d.description, i.indnkeyatts, i.indnullsnotdistinct
    FROM pg_catalog.pg_constraint c JOIN pg_catalog.pg_index i ON c.conindid = i.indexrelid LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid = c.oid WHERE c.contype = 'p' AND c.conrelid IN ('patients'::regclass, 'encounters'::regclass)) AS con
  ON pg_catalog.pg_attribute.attnum = con.attnum AND pg_catalog.pg_attribute.attrelid = con.conrelid WHERE con.conrelid IN ('patients'::regclass, 'encounters'::regclass)) AS attr GROUP BY attr.conrelid, attr.conname ORDER BY attr.conrelid, attr.conname;

-- SQLAlchemy 2.1: indexes of many tables at once
SELECT i.indrelid, c.relname AS relname_index, i.indisunique, con.conrelid IS NOT NULL AS has_constraint, i.indoption, c.reloptions, am.amname, CASE WHEN i.indpred IS NOT NULL THEN pg_catalog.pg_get_expr(i.indpred, i.indrelid) END AS filter_definition, i.indnkeyatts, i.indnullsnotdistinct, cols.elements, cols.elements_is_expr, cols.elements_opclass, cols.elements_opdefault
FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON i.indexrelid = c.oid JOIN pg_catalog.pg_am am ON c.relam = am.oid LEFT OUTER JOIN (
  SELECT idx.indexrelid, min(idx.indrelid) AS min_1, array_agg(idx.element ORDER BY idx.ord) AS elements, array_agg(idx.is_expr ORDER BY idx.ord) AS elements_is_expr, array_agg(idx.opcname ORDER BY idx.ord) AS elements_opclass, array_agg(idx.opcdefault ORDER BY idx.ord) AS elements_opdefault
  FROM (SELECT x.indexrelid, x.indrelid, x.ord, CASE WHEN x.attnum = 0 THEN pg_catalog.pg_get_indexdef(x.indexrelid, x.ord + 1, true) ELSE CAST(a.attname AS TEXT) END AS element, x.attnum = 0 AS is_expr, o.opcname, o.opcdefault
    FROM (SELECT indexrelid, indrelid, unnest(indkey) AS attnum, unnest(indclass) AS att_opclass, generate_subscripts(indkey, 1) AS ord FROM pg_catalog.pg_index WHERE NOT indisprimary OR indrelid = 'patients'::regclass) x LEFT OUTER JOIN pg_catalog.pg_attribute a ON a.attnum = x.attnum AND a.attrelid = x.indrelid LEFT OUTER JOIN pg_catalog.pg_opclass o ON o.oid = x.att_opclass) idx GROUP BY idx.indexrelid) cols ON i.indexrelid = cols.indexrelid
LEFT OUTER JOIN pg_catalog.pg_constraint con ON i.indrelid = con.conrelid AND i.indexrelid = con.conindid AND con.contype = ANY (ARRAY['p', 'u', 'x']) WHERE i.indrelid IN ('patients'::regclass, 'encounters'::regclass) ORDER BY i.indrelid, c.relname;

-- SQLAlchemy 2.1: enums and domains
SELECT t.typname AS name, pg_catalog.pg_type_is_visible(t.oid) AS visible, n.nspname AS schema, lbl.labels FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace LEFT OUTER JOIN (SELECT e.enumtypid, array_agg(CAST(e.enumlabel AS TEXT) ORDER BY e.enumsortorder) AS labels FROM pg_catalog.pg_enum e GROUP BY e.enumtypid) lbl ON t.oid = lbl.enumtypid
WHERE t.typtype IN ('e', 'd') ORDER BY n.nspname, t.typname;

-- Metabase 55: tables
SELECT "n"."nspname" AS "schema", "c"."relname" AS "name", CASE "c"."relkind" WHEN 'r' THEN 'TABLE' WHEN 'p' THEN 'PARTITIONED TABLE' WHEN 'v' THEN 'VIEW' WHEN 'f' THEN 'FOREIGN TABLE' WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE NULL END AS "type", "d"."description" AS "description", "stat"."n_live_tup" AS "estimated_row_count"
FROM "pg_catalog"."pg_class" AS "c" INNER JOIN "pg_catalog"."pg_namespace" AS "n" ON "c"."relnamespace" = "n"."oid" LEFT JOIN "pg_catalog"."pg_description" AS "d" ON ("c"."oid" = "d"."objoid") AND ("d"."objsubid" = 0) AND ("d"."classoid" = 'pg_class'::regclass) LEFT JOIN "pg_stat_user_tables" AS "stat" ON ("n"."nspname" = "stat"."schemaname") AND ("c"."relname" = "stat"."relname")
WHERE ("c"."relnamespace" = "n"."oid") AND ("n"."nspname" !~ '^pg_') AND ("n"."nspname" <> 'information_schema') AND c.relkind in ('r', 'p', 'v', 'f', 'm') AND ("n"."nspname" IN ('public')) ORDER BY "type" ASC, "schema" ASC, "name" ASC;

-- Metabase 55: fields
SELECT "c"."column_name" AS "name", CASE WHEN "c"."udt_schema" IN ('public', 'pg_catalog') THEN FORMAT('%s', "c"."udt_name") ELSE FORMAT('"%s"."%s"', "c"."udt_schema", "c"."udt_name") END AS "database-type", "c"."ordinal_position" - 1 AS "database-position", "c"."table_schema" AS "table-schema", "c"."table_name" AS "table-name", "pk"."column_name" IS NOT NULL AS "pk?",
  COL_DESCRIPTION(CAST(CAST(FORMAT('%I.%I', CAST("c"."table_schema" AS TEXT), CAST("c"."table_name" AS TEXT)) AS REGCLASS) AS OID), "c"."ordinal_position") AS "field-comment", (("column_default" IS NULL) OR (LOWER("column_default") = 'null')) AND ("is_nullable" = 'NO') AND NOT ((("column_default" IS NOT NULL) AND ("column_default" LIKE '%nextval(%')) OR ("is_identity" <> 'NO')) AS "database-required"
FROM "information_schema"."columns" AS "c" LEFT JOIN (SELECT "tc"."table_schema", "tc"."table_name", "kc"."column_name" FROM "information_schema"."table_constraints" AS "tc" INNER JOIN "information_schema"."key_column_usage" AS "kc" ON ("tc"."constraint_name" = "kc"."constraint_name") AND ("tc"."table_schema" = "kc"."table_schema") AND ("tc"."table_name" = "kc"."table_name") WHERE "tc"."constraint_type" = 'PRIMARY KEY') AS "pk"
  ON ("c"."table_schema" = "pk"."table_schema") AND ("c"."table_name" = "pk"."table_name") AND ("c"."column_name" = "pk"."column_name") WHERE c.table_schema !~ '^information_schema|catalog_history|pg_' AND ("c"."table_schema" IN ('public'))
UNION ALL SELECT "pa"."attname", FORMAT('%s', "pt"."typname"), "pa"."attnum" - 1, "pn"."nspname", "pc"."relname", FALSE, NULL, FALSE FROM "pg_catalog"."pg_class" AS "pc" INNER JOIN "pg_catalog"."pg_namespace" AS "pn" ON "pn"."oid" = "pc"."relnamespace" INNER JOIN "pg_catalog"."pg_attribute" AS "pa" ON "pa"."attrelid" = "pc"."oid" INNER JOIN "pg_catalog"."pg_type" AS "pt" ON "pt"."oid" = "pa"."atttypid" WHERE "pc"."relkind" = 'm' AND "pa"."attnum" >= 1
ORDER BY "table-schema" ASC, "table-name" ASC, "database-position" ASC;

-- Metabase 55: foreign keys
SELECT "fk_ns"."nspname" AS "fk-table-schema", "fk_table"."relname" AS "fk-table-name", "fk_column"."attname" AS "fk-column-name", "pk_ns"."nspname" AS "pk-table-schema", "pk_table"."relname" AS "pk-table-name", "pk_column"."attname" AS "pk-column-name"
FROM "pg_constraint" AS "c" INNER JOIN "pg_class" AS "fk_table" ON "c"."conrelid" = "fk_table"."oid" INNER JOIN "pg_namespace" AS "fk_ns" ON "c"."connamespace" = "fk_ns"."oid" INNER JOIN "pg_attribute" AS "fk_column" ON "c"."conrelid" = "fk_column"."attrelid" INNER JOIN "pg_class" AS "pk_table" ON "c"."confrelid" = "pk_table"."oid" INNER JOIN "pg_namespace" AS "pk_ns" ON "pk_table"."relnamespace" = "pk_ns"."oid" INNER JOIN "pg_attribute" AS "pk_column" ON "c"."confrelid" = "pk_column"."attrelid"
WHERE fk_ns.nspname !~ '^information_schema|catalog_history|pg_' AND ("c"."contype" = 'f'::char) AND ("fk_column"."attnum" = ANY("c"."conkey")) AND ("pk_column"."attnum" = ANY("c"."confkey")) ORDER BY "fk-table-schema" ASC, "fk-table-name" ASC;

-- Metabase 55: what may be read
with table_privileges as (select NULL as role, t.schemaname as schema, t.objectname as table, pg_catalog.has_any_column_privilege(current_user, '"' || replace(t.schemaname, '"', '""') || '"' || '.' || '"' || replace(t.objectname, '"', '""') || '"', 'select') as select
  from (select schemaname, tablename as objectname from pg_catalog.pg_tables union select schemaname, viewname as objectname from pg_views union select schemaname, matviewname as objectname from pg_matviews) t where t.schemaname !~ '^pg_' and t.schemaname <> 'information_schema' and pg_catalog.has_schema_privilege(current_user, t.schemaname, 'usage'))
select t.* from table_privileges t where t.select order by t.schema, t.table;

-- Metabase 55: indexes
SELECT tmp.TABLE_SCHEM AS "table-schema", tmp.TABLE_NAME AS "table-name", trim(both '"' from pg_catalog.pg_get_indexdef(tmp.CI_OID, tmp.pos, false)) AS "field-name" FROM (SELECT n.nspname AS TABLE_SCHEM, ct.relname AS TABLE_NAME, ci.oid AS CI_OID, (information_schema._pg_expandarray(i.indkey)).n AS pos FROM pg_catalog.pg_class ct JOIN pg_catalog.pg_namespace n ON ct.relnamespace = n.oid JOIN pg_catalog.pg_index i ON ct.oid = i.indrelid JOIN pg_catalog.pg_class ci ON ci.oid = i.indexrelid WHERE pg_catalog.pg_get_expr(i.indpred, i.indrelid) IS NULL AND n.nspname !~ '^information_schema|pg_') tmp WHERE tmp.pos = 1 ORDER BY 1, 2, 3;

-- Grafana 12: version
SELECT current_setting('server_version_num')::int/100 AS version;

-- Grafana 12: columns
SELECT quote_ident(column_name) AS "column", data_type AS "type" FROM information_schema.columns WHERE CASE WHEN array_length(parse_ident('public.patients'), 1) = 2 THEN quote_ident(table_schema) = (parse_ident('public.patients'))[1] AND quote_ident(table_name) = (parse_ident('public.patients'))[2] ELSE quote_ident(table_name) = 'public.patients'
  AND quote_ident(table_schema) IN (SELECT CASE WHEN trim(s[i]) = '"$user"' THEN user ELSE trim(s[i]) END FROM generate_series(array_lower(string_to_array(current_setting('search_path'),','),1), array_upper(string_to_array(current_setting('search_path'),','),1)) AS i, string_to_array(current_setting('search_path'),',') s) END;

-- Superset 4: tables and views
SELECT pg_catalog.pg_class.relname FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_catalog.pg_namespace.oid = pg_catalog.pg_class.relnamespace WHERE pg_catalog.pg_class.relkind = ANY (ARRAY['r', 'p']) AND pg_catalog.pg_namespace.nspname = 'public'
UNION SELECT c.relname AS name FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = 'public' AND c.relkind IN ('m', 'v') ORDER BY 1;

-- Superset 4: catalogs and schemas
SELECT datname FROM pg_database WHERE datistemplate = false;

-- drizzle-kit 1: namespaces, tables and enums in one document
SELECT json_agg(json_build_object('schema', t.nspname, 'table', t.relname, 'columns', t.columns) ORDER BY t.nspname, t.relname) AS schema FROM (SELECT n.nspname, c.relname, (SELECT json_agg(json_build_object('name', a.attname, 'type', format_type(a.atttypid, a.atttypmod), 'notNull', a.attnotnull) ORDER BY a.attnum) FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped) AS columns
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'r' AND n.nspname = 'public') t;

-- drizzle-kit 1: columns
SELECT a.attrelid AS "tableId", a.attname AS name, a.attnum AS "ordinality", a.attnotnull AS "notNull", a.attndims AS "dimensions", a.atttypid AS "typeId", a.attgenerated AS "generatedType", a.attidentity AS "identityType", format_type(a.atttypid, a.atttypmod) AS type,
  CASE WHEN a.attidentity IN ('a', 'd') OR a.attgenerated = 's' THEN (SELECT row_to_json(c.*) FROM (SELECT pg_get_serial_sequence('"' || "table_schema" || '"."' || "table_name" || '"', "attname")::regclass::oid AS "seqId", "identity_generation" AS generation FROM information_schema.columns c WHERE c.column_name = a.attname AND c.table_schema = 'public') c) ELSE NULL END AS "metadata"
FROM pg_attribute a WHERE a.attrelid IN ('patients'::regclass, 'prescriptions'::regclass) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY lower(a.attname), a.attrelid;

-- drizzle-kit 1: foreign keys
SELECT con.contype AS constraint_type, nsp.nspname AS constraint_schema, con.conname AS constraint_name, rel.relname AS table_name, att.attname AS column_name, frel.relname AS foreign_table_name, fatt.attname AS foreign_column_name, CASE con.confupdtype WHEN 'a' THEN 'NO ACTION' WHEN 'r' THEN 'RESTRICT' WHEN 'c' THEN 'CASCADE' END AS update_rule
FROM pg_catalog.pg_constraint con JOIN pg_catalog.pg_class rel ON rel.oid = con.conrelid JOIN pg_catalog.pg_namespace nsp ON nsp.oid = con.connamespace LEFT JOIN pg_catalog.pg_attribute att ON att.attnum = ANY (con.conkey) AND att.attrelid = con.conrelid LEFT JOIN pg_catalog.pg_class frel ON frel.oid = con.confrelid LEFT JOIN pg_catalog.pg_attribute fatt ON fatt.attnum = ANY (con.confkey) AND fatt.attrelid = con.confrelid
WHERE nsp.nspname = 'public' AND rel.relname = 'encounters' AND con.contype IN ('f');

-- prisma: version and schemas
SELECT EXISTS(SELECT 1 FROM pg_namespace WHERE nspname = 'public'), version(), current_setting('server_version_num')::integer AS numeric_version;

-- prisma: tables
SELECT tbl.relname AS table_name, namespace.nspname AS namespace, (tbl.relhassubclass AND tbl.relkind = 'p') AS is_partition, (tbl.relhassubclass AND tbl.relkind = 'r') AS has_subclass, tbl.relrowsecurity AS has_row_level_security, reloptions, obj_description(tbl.oid, 'pg_class') AS description
FROM pg_class AS tbl INNER JOIN pg_namespace AS namespace ON namespace.oid = tbl.relnamespace WHERE (tbl.relkind = 'r' OR tbl.relkind = 'p') AND namespace.nspname = ANY ('{public,dpsql}') ORDER BY namespace, table_name;

-- prisma: columns
SELECT oid.namespace, info.table_name, info.column_name, format_type(att.atttypid, att.atttypmod) AS formatted_type, info.numeric_precision, info.numeric_scale, info.numeric_precision_radix, info.datetime_precision, info.data_type, info.udt_schema AS type_schema_name, info.udt_name AS full_data_type, pg_get_expr(attdef.adbin, attdef.adrelid) AS column_default, info.is_nullable, info.is_identity, info.character_maximum_length, col_description(att.attrelid, ordinal_position) AS description
FROM information_schema.columns info JOIN pg_attribute att ON att.attname = info.column_name JOIN (SELECT pg_class.oid, relname, pg_namespace.nspname AS namespace FROM pg_class JOIN pg_namespace ON pg_namespace.oid = pg_class.relnamespace AND pg_namespace.nspname = ANY (ARRAY['public']) WHERE reltype > 0) AS oid ON oid.oid = att.attrelid AND relname = info.table_name AND namespace = info.table_schema LEFT OUTER JOIN pg_attrdef attdef ON attdef.adrelid = att.attrelid AND attdef.adnum = att.attnum AND table_schema = namespace
WHERE table_schema = ANY (ARRAY['public']) ORDER BY namespace, table_name, ordinal_position;

-- prisma: indexes with their columns' classes
WITH rawindex AS (SELECT indrelid, indexrelid, indisunique, indisprimary, unnest(indkey) AS indkeyid, generate_subscripts(indkey, 1) AS indkeyidx, unnest(indclass) AS indclass, unnest(indoption) AS indoption FROM pg_index WHERE indpred IS NULL AND array_position(indkey::int2[], 0::int2) IS NULL)
SELECT schemainfo.nspname AS namespace, indexinfo.relname AS index_name, tableinfo.relname AS table_name, columninfo.attname AS column_name, rawindex.indisunique AS is_unique, rawindex.indisprimary AS is_primary_key, rawindex.indkeyidx AS column_index, opclass.opcname AS opclass, opclass.opcdefault AS opcdefault, indexaccess.amname AS index_algo,
  CASE rawindex.indoption & 1 WHEN 1 THEN 'DESC' ELSE 'ASC' END AS column_order, CASE rawindex.indoption & 2 WHEN 2 THEN true ELSE false END AS nulls_first, pc.condeferrable AS condeferrable
FROM rawindex INNER JOIN pg_class AS tableinfo ON tableinfo.oid = rawindex.indrelid INNER JOIN pg_class AS indexinfo ON indexinfo.oid = rawindex.indexrelid INNER JOIN pg_namespace AS schemainfo ON schemainfo.oid = tableinfo.relnamespace LEFT JOIN pg_attribute AS columninfo ON columninfo.attrelid = tableinfo.oid AND columninfo.attnum = rawindex.indkeyid
  INNER JOIN pg_am AS indexaccess ON indexaccess.oid = indexinfo.relam LEFT JOIN pg_opclass AS opclass ON opclass.oid = rawindex.indclass LEFT JOIN pg_constraint pc ON rawindex.indexrelid = pc.conindid AND pc.contype <> 'f' WHERE schemainfo.nspname = ANY (ARRAY['public']) ORDER BY namespace, table_name, index_name, column_index;

-- prisma: foreign keys
SELECT con.oid AS con_id, att2.attname AS child_column, cl.relname AS parent_table, att.attname AS parent_column, con.confdeltype, con.confupdtype, rel_ns.nspname AS referenced_schema_name, conname AS constraint_name, child, parent, table_name, namespace, condeferrable, condeferred
FROM (SELECT ns.nspname AS namespace, unnest(con1.conkey) AS parent, unnest(con1.confkey) AS child, cl.relname AS table_name, ns.nspname AS schema_name, generate_subscripts(con1.conkey, 1) AS colidx, con1.oid, con1.confrelid, con1.conrelid, con1.conname, con1.confdeltype, con1.confupdtype, con1.condeferrable, con1.condeferred
  FROM pg_class cl JOIN pg_constraint con1 ON con1.conrelid = cl.oid JOIN pg_namespace ns ON cl.relnamespace = ns.oid WHERE ns.nspname = ANY (ARRAY['public']) AND con1.contype = 'f' ORDER BY colidx) con
JOIN pg_attribute att ON att.attrelid = con.confrelid AND att.attnum = con.child JOIN pg_class cl ON cl.oid = con.confrelid JOIN pg_attribute att2 ON att2.attrelid = con.conrelid AND att2.attnum = con.parent JOIN pg_class rel_cl ON con.confrelid = rel_cl.oid JOIN pg_namespace rel_ns ON rel_cl.relnamespace = rel_ns.oid ORDER BY namespace, table_name, constraint_name, con_id, con.colidx;

-- JSON of names: rows, lists, objects
SELECT row_to_json(t), to_json(t), to_jsonb(t.*), to_json(t.list), to_jsonb('a "b" \ /<&'::text), json_build_object('n', 1, 'null', NULL, 'list', t.list, 'row', row_to_json(t)), jsonb_build_object('b', true, 'a', 1.50), json_build_array(1, 'x', NULL, t.o), jsonb_build_array()
FROM (SELECT relname, relkind, 26::oid AS o, ARRAY['a', NULL, 'c'] AS list, NULL AS nothing, 1.5::numeric AS n, true AS yes FROM pg_class WHERE relname = 'patients') t;

-- JSON of names: aggregates
SELECT json_agg(t ORDER BY t.relname), jsonb_agg(t.* ORDER BY relname DESC), json_agg(t.relname ORDER BY t.relname), json_agg(t.k ORDER BY relname), json_agg(NULL::text), json_agg(relname) FILTER (WHERE false), jsonb_agg(DISTINCT relkind), json_agg(to_json(relname) ORDER BY relname)
FROM (SELECT relname, relkind, ARRAY[relnatts] AS k FROM pg_class WHERE relnamespace = 'public'::regnamespace) t;

-- Names that are put together
SELECT concat('a', NULL, 1, true, 'x'::"char", ARRAY[1,2]), concat_ws(', ', NULL, 'b', 'c'), concat_ws(NULL, 'a', 'b'), concat_ws('-'), array_position(ARRAY['a','b','a'], 'a', 2), array_position(ARRAY[1,NULL], NULL), array_position('3 4 5'::int2vector::int2[], 5::int2), array_position(ARRAY[1], 2), format('%s %I %L %%', 1, 'A b', NULL);
