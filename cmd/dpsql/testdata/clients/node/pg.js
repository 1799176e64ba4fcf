// node-postgres: parameters, named statements, a cursor, a stream, cancel by statement_timeout.
const { Client } = require('pg');
const Cursor = require('pg-cursor');
const QueryStream = require('pg-query-stream');

const groups = 'SELECT readmitted, count(*) FROM encounters GROUP BY 1 ORDER BY 1';

async function main() {
  const [host, port] = process.argv[2].split(':');
  const c = new Client({ host, port: Number(port), user: 'analyst', password: 'demo', database: 'demo', options: '-c dpsql.notices=brief' });
  const notices = [];
  c.on('notice', (n) => notices.push(n.message));
  await c.connect();
  const t = await c.query("SELECT table_name FROM information_schema.tables WHERE table_schema = $1 ORDER BY 1", ['public']);
  console.log('tables:', t.rows.map((r) => r.table_name).join(', '));
  const r = await c.query('SELECT count(*) FROM encounters WHERE medications >= $1', [11]);
  console.log(`count: ~${r.rows[0].count}, type ${r.fields[0].dataTypeID}`);
  console.log('a notice tells the price:', notices.some((n) => n.includes('price')));
  for (let i = 0; i < 2; i++) {
    const p = await c.query({ name: 'groups', text: groups });
    if (i) p.rows.forEach((g) => console.log(`prepared: ${g.readmitted} ~${g.count}`));
  }
  const cursor = c.query(new Cursor(groups));
  console.log('cursor:', (await cursor.read(2)).length, (await cursor.read(2)).length);
  await cursor.close();
  let n = 0;
  for await (const _ of c.query(new QueryStream(groups, [], { batchSize: 1, highWaterMark: 1 }))) n++;
  console.log('stream:', n);
  for (const sql of ['SELECT * FROM patients', 'SELECT nothing FROM patients']) {
    await c.query(sql).catch((e) => console.log(`${sql}: ${e.code} ${e.message}`));
  }
  await c.query('SET statement_timeout = 200');
  await c.query('SELECT pg_sleep(10)').catch((e) => console.log('statement_timeout:', e.code));
  await c.end();
}
main().catch((e) => { console.error(e); process.exit(1); });
