// drizzle: drizzle-kit pull writes the schema, drizzle-orm asks.
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { drizzle } = require('drizzle-orm/node-postgres');
const { pgTable, integer, text } = require('drizzle-orm/pg-core');
const { count, gte } = require('drizzle-orm');

async function main() {
  const url = `postgres://analyst:demo@${process.argv[2]}/demo`;
  const out = path.join(process.argv[3], 'drizzle');
  execFileSync(process.execPath, [path.join(__dirname, 'node_modules/drizzle-kit/bin.cjs'), 'pull', '--dialect', 'postgresql', '--url', url, '--out', path.relative(process.cwd(), out)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const schema = fs.readFileSync(path.join(out, 'schema.ts'), 'utf8');
  console.log('pulled:', [...schema.matchAll(/pgTable\("(\w+)"/g)].map((m) => m[1]).sort().join(', '));
  console.log('references:', [...schema.matchAll(/foreignColumns: \[(\w+)\.(\w+)\]/g)].map((m) => m[1]).sort().join(', '));
  const encounters = pgTable('encounters', { readmitted: text('readmitted'), medications: integer('medications') });
  const db = drizzle(url);
  const [r] = await db.select({ n: count() }).from(encounters).where(gte(encounters.medications, 16));
  console.log(`count: ~${r.n}`);
  for (const g of await db.select({ key: encounters.readmitted, n: count() }).from(encounters).groupBy(encounters.readmitted).orderBy(encounters.readmitted)) console.log(`group: ${g.key} ~${g.n}`);
  await db.select().from(encounters).limit(5).catch((e) => console.log(`rows: ${(e.cause ?? e).code} ${(e.cause ?? e).message}`));
  await db.$client.end();
}
main().catch((e) => { console.error(e); process.exit(1); });
