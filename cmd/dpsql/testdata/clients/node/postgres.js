// postgres.js: describe, parameters, a cursor, a transaction, cancel.
const postgres = require('postgres');

async function main() {
  const notices = [];
  const sql = postgres(`postgres://analyst:demo@${process.argv[2]}/demo`, { max: 1, connection: { 'dpsql.notices': 'brief' }, onnotice: (n) => notices.push(n.message) });
  const t = await sql`SELECT table_name FROM information_schema.tables WHERE table_schema = ${'public'} ORDER BY 1`;
  console.log('tables:', t.map((r) => r.table_name).join(', '));
  const d = await sql`SELECT readmitted, count(*), avg(medications) FROM encounters WHERE medications >= ${12} GROUP BY 1`.describe();
  console.log('described:', d.types, d.columns.map((c) => `${c.name} ${c.type}`).join(', '), '- notices:', notices.length);
  const [r] = await sql`SELECT count(*) FROM encounters WHERE medications >= ${12}`;
  console.log(`count: ~${r.count}`);
  console.log('a notice tells the price:', notices.some((n) => n.includes('price')));
  await sql`SELECT readmitted, count(*) FROM encounters GROUP BY 1 ORDER BY 1`.cursor(2, (rows) => console.log('cursor:', rows.length));
  await sql.begin(async (tx) => {
    const rows = await tx`SELECT readmitted, count(*) FROM encounters GROUP BY 1 ORDER BY 1`;
    rows.forEach((g) => console.log(`group: ${g.readmitted} ~${g.count}`));
  });
  await sql`SELECT * FROM patients`.catch((e) => console.log(`rows: ${e.code} ${e.message}`));
  const slow = sql`SELECT pg_sleep(10)`;
  setTimeout(() => slow.cancel(), 300);
  await slow.catch((e) => console.log('cancel:', e.code));
  await sql.end();
}
main().catch((e) => { console.error(e); process.exit(1); });
