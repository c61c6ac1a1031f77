// node-postgres against a server with the sample tables and the table Types. PGHOST and its kin say where it is.
'use strict';

const assert = require('assert');
const { Client, Pool, types } = require('pg');
const Cursor = require('pg-cursor');
const { check, run } = require('./checks.js');

async function withClient(work, options = {}) {
  const client = new Client(options);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

async function refused(code, work) {
  try {
    await work();
  } catch (error) {
    assert.strictEqual(error.code, code, error.message);
    return error;
  }
  throw new Error(`wanted ${code}, but it worked`);
}

check('values and their types', () => withClient(async (client) => {
  const read = async (key) => (await client.query('SELECT * FROM types WHERE partitionkey = $1 AND rowkey = $2', ['types', key])).rows[0];
  const all = await read('all');
  assert.deepStrictEqual(all.Bin, Buffer.from([0, 1, 2, 255]));
  assert.strictEqual(all.Bool, true);
  assert.deepStrictEqual(all.At, new Date('2024-05-01T08:00:00.123Z'));
  assert.strictEqual(all.Dbl, 12.5);
  assert.strictEqual(all.Gid, 'c9da6455-213d-42c9-9a79-3e9149a57833');
  assert.strictEqual(all.I32, -7);
  assert.strictEqual(all.I64, '-9007199254740993');
  assert.strictEqual(all.Str, 'text');
  assert.strictEqual(all.Mixed, null);
  const least = await read('least');
  assert.deepStrictEqual(least.At, new Date('1601-01-01T00:00:00Z'));
  assert.strictEqual(least.Dbl, -Infinity);
  assert.strictEqual(least.I64, '-9223372036854775808');
  const most = await read('most');
  assert.deepStrictEqual(most.At, new Date('9999-12-31T23:59:59.999Z'));
  assert.strictEqual(most.Str, '\u{10ffff}');
  assert.ok(Number.isNaN((await read('no number')).Dbl));
}));

check('fields', () => withClient(async (client) => {
  const result = await client.query('SELECT partitionkey, age AS years, 1, 1.5, count(*) OVER () FROM employees LIMIT 1');
  assert.deepStrictEqual(result.fields.map((field) => [field.name, field.dataTypeID]),
    [['PartitionKey', 25], ['years', 23], ['?column?', 23], ['?column?', 1700], ['count', 20]]);
  assert.ok(result.fields[0].tableID > 0 && result.fields[0].columnID === 1 && result.fields[2].tableID === 0);
  assert.strictEqual(result.command, 'SELECT');
  assert.strictEqual(result.rowCount, 1);
}));

check('parameters of every type', () => withClient(async (client) => {
  const count = async (query, values) => Number((await client.query(query, values)).rows[0].count);
  for (const [query, values, wanted] of [
    ['SELECT count(*) FROM types WHERE i32 = $1', [-7], 1],
    ['SELECT count(*) FROM types WHERE i64 = $1', ['-9007199254740993'], 1],
    ['SELECT count(*) FROM types WHERE i64 = $1', [9223372036854775807n], 1],
    ['SELECT count(*) FROM types WHERE dbl = $1', [12.5], 1],
    ['SELECT count(*) FROM types WHERE bool = $1', [true], 2],
    ['SELECT count(*) FROM types WHERE str = $1', ['text'], 1],
    ['SELECT count(*) FROM types WHERE bin = $1', [Buffer.from([0, 1, 2, 255])], 1],
    ['SELECT count(*) FROM types WHERE gid = $1', ['c9da6455-213d-42c9-9a79-3e9149a57833'], 1],
    ['SELECT count(*) FROM types WHERE at = $1', [new Date('1601-01-01T00:00:00Z')], 1],
    ['SELECT count(*) FROM types WHERE at > $1', [new Date('9999-01-01T00:00:00Z')], 1],
    ['SELECT count(*) FROM types WHERE i32 = ANY($1)', [[-7, 2147483647]], 2],
    ['SELECT count(*) FROM types WHERE rowkey = ANY($1)', [['all', 'most', 'a "quoted", one']], 2],
    ['SELECT count(*) FROM types WHERE gid = ANY($1)', [['00000000-0000-0000-0000-000000000000']], 1],
    ['SELECT count(*) FROM types WHERE i32 = $1', [null], 0],
    ['SELECT count(*) FROM (SELECT 1 FROM types LIMIT $1 OFFSET $2) t', [5, 20], 2],
    ['SELECT count(*) FROM types WHERE partitionkey = $1 AND rowkey IN ($2, $3)', ['types', 'all', 'most'], 2],
  ]) {
    assert.strictEqual(await count(query, values), wanted, query);
    assert.strictEqual(await count({ text: query, name: `named ${query} ${typeof values[0]}`.slice(0, 60) }, values), wanted, query);
  }
  const echoed = (await client.query('SELECT $1::int8 AS a, $2::text AS b, $3::timestamptz AS c, $4::jsonb AS d, $5::numeric AS e',
    ['9007199254740993', "ä'\\", new Date(0), '{"x": 1}', '1.50'])).rows[0];
  assert.deepStrictEqual(echoed, { a: '9007199254740993', b: "ä'\\", c: new Date(0), d: { x: 1 }, e: '1.50' });
}));

check('named statements are kept', () => withClient(async (client) => {
  for (let number = 0; number < 5; number++) {
    const { rows } = await client.query({ name: 'twice', text: 'SELECT $1::int4 * 2 AS twice', values: [number] });
    assert.strictEqual(rows[0].twice, 2 * number);
  }
  const { rows } = await client.query('SELECT name FROM pg_prepared_statements');
  assert.deepStrictEqual(rows, [{ name: 'twice' }]);
}));

check('cursors', () => withClient(async (client) => {
  const cursor = client.query(new Cursor('SELECT partitionkey, rowkey FROM employees WHERE partitionkey < $1 ORDER BY 1, 2', ['z']));
  let count = 0;
  for (let rows = await cursor.read(5000); rows.length > 0; rows = await cursor.read(5000)) count += rows.length;
  assert.strictEqual(count, 48000);
  await cursor.close();
  const endless = client.query(new Cursor('SELECT a.rowkey FROM employees a, employees b'));
  assert.strictEqual((await endless.read(10)).length, 10);
  await endless.close();
  assert.strictEqual((await client.query('SELECT 1 AS one')).rows[0].one, 1);
}));

check('several results of one query', () => withClient(async (client) => {
  const results = await client.query("SELECT 1 AS a; SET application_name = 'x;y'; SELECT 'b' AS b, 2 AS c");
  assert.deepStrictEqual(results.map((result) => result.command), ['SELECT', 'SET', 'SELECT']);
  assert.deepStrictEqual(results[2].rows, [{ b: 'b', c: 2 }]);
}));

check('errors', () => withClient(async (client) => {
  const error = await refused('42703', () => client.query('SELECT lastnam FROM employees'));
  assert.strictEqual(error.position, '8');
  assert.strictEqual(error.severity, 'ERROR');
  assert.match(error.message, /column "lastnam" does not exist/);
  assert.match(error.hint, /LastName/);
  await refused('42P01', () => client.query('SELECT * FROM nosuch WHERE a = $1', [1]));
  await refused('22P02', () => client.query('SELECT count(*) FROM types WHERE gid = $1', ['x']));
  await refused('22P02', () => client.query('SELECT count(*) FROM types WHERE i32 = $1', ['x']));
  await refused('08P01', () => client.query('SELECT $1::int4, $2::int4', [1]));
  await refused('22012', () => client.query('SELECT 1/$1::int4', [0]));
  await refused('0A000', () => client.query('CREATE INDEX i ON departments (budget)'));
  await refused('23505', () => client.query('INSERT INTO departments (partitionkey, rowkey) SELECT partitionkey, rowkey FROM departments'));
  assert.strictEqual((await client.query('SELECT 1 AS one')).rows[0].one, 1);
}));

check('transactions', () => withClient(async (client) => {
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
  await client.query('SAVEPOINT a');
  await refused('42P01', () => client.query('SELECT * FROM nosuch'));
  await refused('25P02', () => client.query('SELECT 1'));
  await client.query('ROLLBACK TO a');
  assert.strictEqual((await client.query('SELECT 1 AS one')).rows[0].one, 1);
  assert.strictEqual((await client.query('COMMIT')).command, 'COMMIT');
}));

check('timeouts and settings', () => withClient(async (client) => {
  await refused('57014', () => client.query('SELECT pg_sleep(30)'));
  assert.strictEqual((await client.query('SHOW application_name')).rows[0].application_name, 'checks');
  await client.query("SELECT set_config('TimeZone', 'Asia/Kolkata', false)");
  assert.strictEqual((await client.query("SELECT '1601-01-01 00:00:00+00'::timestamptz::text AS t")).rows[0].t.slice(0, 10), '1601-01-01');
}, { application_name: 'checks', statement_timeout: 300 }));

check('notices', () => withClient(async (client) => {
  const heard = [];
  client.on('notice', (notice) => heard.push(notice.code));
  await client.query('COMMIT');
  assert.deepStrictEqual(heard, ['25P01']);
}));

check('a pool', async () => {
  const pool = new Pool({ max: 5 });
  const answers = await Promise.all(Array.from({ length: 40 }, (_, number) => pool.query('SELECT $1::int4 + count(*) AS n FROM departments', [number])));
  assert.deepStrictEqual(answers.map((answer) => Number(answer.rows[0].n)), Array.from({ length: 40 }, (_, number) => number + 12));
  await pool.end();
});

types.setTypeParser(types.builtins.JSONB, JSON.parse);
run();
