// typeorm: its reading of the schema, an entity's query builder, a stream.
require('reflect-metadata');
const { DataSource, EntitySchema } = require('typeorm');

async function main() {
  const [host, port] = process.argv[2].split(':');
  const Encounter = new EntitySchema({ name: 'encounters', columns: { encounter_id: { type: 'int', primary: true }, readmitted: { type: 'text' }, medications: { type: 'int' } } });
  const db = new DataSource({ type: 'postgres', host, port: Number(port), username: 'analyst', password: 'demo', database: 'demo', entities: [Encounter] });
  await db.initialize();
  const run = db.createQueryRunner();
  for (const t of (await run.getTables(['patients', 'encounters', 'admission_types'])).sort((a, b) => a.name.localeCompare(b.name))) {
    console.log(`${t.name}: ${t.columns.slice(0, 3).map((c) => `${c.name} ${c.type}`).join(', ')}; key ${t.primaryColumns.map((c) => c.name)}; references ${t.foreignKeys.map((k) => k.referencedTableName).sort()}`);
  }
  const encounters = db.getRepository(Encounter);
  console.log(`count: ~${await encounters.createQueryBuilder('e').where('e.medications >= :n', { n: 15 }).select('count(*)', 'n').getRawOne().then((r) => r.n)}`);
  for (const g of await encounters.createQueryBuilder('e').select('e.readmitted', 'readmitted').addSelect('count(*)', 'n').groupBy('e.readmitted').orderBy('e.readmitted').getRawMany()) console.log(`group: ${g.readmitted} ~${g.n}`);
  await encounters.find({ take: 5 }).catch((e) => console.log(`rows: ${e.code} ${e.message}`));
  await run.release();
  await db.destroy();
}
main().catch((e) => { console.error(e); process.exit(1); });
