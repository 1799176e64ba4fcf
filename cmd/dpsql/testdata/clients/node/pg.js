// node-postgres: parameters, named statements, a cursor, a stream, cancel by statement_timeout.
const { Client, Query } = require('pg');
const Cursor = require('pg-cursor');
const QueryStream = require('pg-query-stream');

const groups = 'SELECT readmitted, count(*) FROM encounters GROUP BY 1 ORDER BY 1';

async function main() {
  const [host, port] = process.argv[2].split(':');
  const config = { host, port: Number(port), user: 'analyst', password: 'demo', database: 'demo', options: '-c dpsql.notices=brief -c dpsql.expected_size=5000 -c statement_timeout=30s' };
  const c = new Client(config);
  const notices = [];
  c.on('notice', (n) => notices.push(n.message));
  await c.connect();
  for (const name of ['dpsql.expected_size', 'statement_timeout']) console.log('by options:', name, (await c.query(`SHOW ${name}`)).rows[0][name]);
  const t = await c.query("SELECT table_name FROM information_schema.tables WHERE table_schema = $1 ORDER BY 1", ['public']);
  console.log('tables:', t.rows.map((r) => r.table_name).join(', '));
  const r = await c.query('SELECT count(*) FROM encounters WHERE medications >= $1', [11]);
  console.log(`count: ~${r.rows[0].count}, type ${r.fields[0].dataTypeID}`);
  const list = await c.query('SELECT count(*) FROM encounters WHERE readmitted = ANY($1)', [['NO', '<30']]);
  console.log(`a list: ~${list.rows[0].count}`);
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
  await c.query('RESET statement_timeout');
  const slow = new Query('SELECT pg_sleep(20)');
  const over = new Promise((done) => slow.on('end', () => done('none')).on('error', (e) => done(e.code)));
  c.query(slow);
  const timer = setInterval(() => new Client(config).cancel(c, slow), 200); // until it has begun, and ends
  console.log('cancel:', await over);
  clearInterval(timer);
  await c.end();
}
main().catch((e) => { console.error(e); process.exit(1); });
