// knex: its look-ups of tables and columns, the query builder, a stream, a raw statement with a time-out that cancels.
const knex = require('knex');

async function main() {
  const [host, port] = process.argv[2].split(':');
  const db = knex({ client: 'pg', connection: { host, port: Number(port), user: 'analyst', password: 'demo', database: 'demo' } });
  console.log('has patients:', await db.schema.hasTable('patients'), 'has nothing:', await db.schema.hasTable('nothing'));
  console.log('has column:', await db.schema.hasColumn('patients', 'gender'), await db.schema.hasColumn('patients', 'nothing'));
  const info = await db('patients').columnInfo();
  for (const [name, c] of Object.entries(info)) console.log(`column: ${name} ${c.type} ${c.nullable}`);
  const [n] = await db('encounters').where('medications', '>=', 13).count('* as n');
  console.log(`count: ~${n.n}`);
  for (const g of await db('encounters').select('readmitted').count('* as n').groupBy('readmitted').orderBy('readmitted')) console.log(`group: ${g.readmitted} ~${g.n}`);
  await db('patients').select('*').catch((e) => console.log(`rows: ${e.code}`));
  await db.raw('SELECT pg_sleep(10)').timeout(300, { cancel: true }).catch((e) => console.log('time-out:', e.name));
  await db.destroy();
}
main().catch((e) => { console.error(e); process.exit(1); });
