// sequelize: its query interface over the catalogs, a model's aggregates, transactions.
const { Sequelize, DataTypes, fn, col, Op } = require('sequelize');

async function main() {
  const db = new Sequelize(`postgres://analyst:demo@${process.argv[2]}/demo`, { logging: false });
  await db.authenticate();
  const look = db.getQueryInterface();
  const tables = (await look.showAllTables()).sort();
  console.log('tables:', tables.join(', '));
  for (const [name, c] of Object.entries(await look.describeTable('encounters')).slice(0, 4)) console.log(`column: ${name} ${c.type} null ${c.allowNull} key ${c.primaryKey} ${c.comment}`);
  for (const i of await look.showIndex('encounters')) console.log(`index: ${i.name} ${i.unique} ${i.fields.map((f) => f.attribute)}`);
  for (const k of await look.getForeignKeyReferencesForTable('encounters')) console.log(`references: ${k.columnName} ${k.referencedTableName}.${k.referencedColumnName}`);
  const Encounter = db.define('encounters', { encounter_id: { type: DataTypes.INTEGER, primaryKey: true }, readmitted: DataTypes.TEXT, medications: DataTypes.INTEGER }, { timestamps: false, freezeTableName: true });
  console.log(`count: ~${await Encounter.count({ where: { medications: { [Op.gte]: 14 } } })}`);
  await db.transaction(async (transaction) => {
    const groups = await Encounter.findAll({ attributes: ['readmitted', [fn('COUNT', col('*')), 'n']], group: ['readmitted'], order: ['readmitted'], raw: true, transaction });
    for (const g of groups) console.log(`group: ${g.readmitted} ~${g.n}`);
  });
  await Encounter.findAll({ limit: 5 }).catch((e) => console.log(`rows: ${e.original.code} ${e.message}`));
  await db.close();
}
main().catch((e) => { console.error(e); process.exit(1); });
