// @azure/data-tables (npm) against the Table service of `rowkey serve`, whose URL is in ROWKEY_REST.
'use strict';

const assert = require('assert');
const {
  AzureNamedKeyCredential, AzureSASCredential, TableClient, TableServiceClient, TableTransaction, generateAccountSas,
  generateTableSas, odata,
} = require('@azure/data-tables');
const { check, run } = require('./checks.js');

const account = 'devstoreaccount1';
const key = 'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==';
const url = process.env.ROWKEY_REST;
const credential = new AzureNamedKeyCredential(account, key);
const options = { allowInsecureConnection: true, retryOptions: { maxRetries: 0 } };
const service = new TableServiceClient(url, credential, options);
let tables = 0;

async function fresh() {
  const client = new TableClient(url, `J${process.pid}x${tables++}`, credential, options);
  await client.createTable();
  return client;
}

async function refused(status, code, work) {
  try {
    await work();
  } catch (error) {
    const found = error.details?.odataError?.code ?? error.code;
    assert.deepStrictEqual([error.statusCode, found], [status, code], error.stack);
    return error;
  }
  throw new Error(`wanted ${code}, but it worked`);
}

async function all(pages) {
  const found = [];
  for await (const item of pages) found.push(item);
  return found;
}

check('tables', async () => {
  const client = await fresh();
  await client.createTable();
  const names = (await all(service.listTables())).map((table) => table.name);
  assert.ok(names.includes(client.tableName));
  const filter = odata`TableName eq ${client.tableName}`;
  assert.strictEqual((await all(service.listTables({ queryOptions: { filter } }))).length, 1);
  await refused(400, 'InvalidResourceName', () => service.createTable('my_table'));
  await service.deleteTable(client.tableName);
  await refused(404, 'TableNotFound', () => client.getEntity('p', 'r'));
});

check('entities', async () => {
  const client = await fresh();
  const created = await client.createEntity({ partitionKey: 'p', rowKey: 'r', n: 5, text: "it's" });
  assert.match(created.etag, /^W\/"datetime'/);
  await refused(409, 'EntityAlreadyExists', () => client.createEntity({ partitionKey: 'p', rowKey: 'r' }));
  await client.updateEntity({ partitionKey: 'p', rowKey: 'r', more: true }, 'Merge');
  const read = await client.getEntity('p', 'r');
  assert.deepStrictEqual([read.n, read.text, read.more], [5, "it's", true]);
  await refused(412, 'UpdateConditionNotSatisfied',
    () => client.updateEntity({ partitionKey: 'p', rowKey: 'r' }, 'Replace', { etag: created.etag }));
  await client.updateEntity({ partitionKey: 'p', rowKey: 'r', only: 1 }, 'Replace', { etag: read.etag });
  assert.strictEqual((await client.getEntity('p', 'r')).n, undefined);
  await client.upsertEntity({ partitionKey: 'p', rowKey: 'new', a: 1 }, 'Merge');
  await client.upsertEntity({ partitionKey: 'p', rowKey: 'new', b: 1 }, 'Replace');
  assert.strictEqual((await client.getEntity('p', 'new')).a, undefined);
  await refused(404, 'ResourceNotFound', () => client.updateEntity({ partitionKey: 'p', rowKey: 'none' }, 'Merge'));
  await client.deleteEntity('p', 'r');
  await refused(404, 'ResourceNotFound', () => client.deleteEntity('p', 'r'));
});

check('every type', async () => {
  const client = await fresh();
  const entity = {
    partitionKey: "O'Brien %25 €", rowKey: 'a b+c(),=&', text: '名前 😀 "quoted" \\', empty: '', yes: true, int: -5,
    double: 1.5, big: { type: 'Int64', value: '9223372036854775807' }, three: { type: 'Double', value: '3' },
    at: new Date('2020-01-02T03:04:05.678Z'), bytes: new Uint8Array([0, 1, 254, 255]),
    id: { type: 'Guid', value: '0d391d16-97f1-4b9a-be68-4cc871f90001' },
    tick: { type: 'DateTime', value: '2020-01-02T03:04:05.1234567Z' }, text2: { type: 'String', value: '5' },
  };
  await client.createEntity(entity);
  const { partitionKey, rowKey } = entity;
  const read = await client.getEntity(partitionKey, rowKey, { disableTypeConversion: true });
  assert.deepStrictEqual(read.big, { type: 'Int64', value: '9223372036854775807' });
  assert.deepStrictEqual(read.tick, { type: 'DateTime', value: '2020-01-02T03:04:05.1234567Z' });
  // JSON has one kind of numbers: that it was written as 3.0 the SDK does not see.
  assert.deepStrictEqual([read.three, read.id], [{ type: 'Int32', value: '3' }, entity.id]);
  const plain = await client.getEntity(partitionKey, rowKey);
  assert.deepStrictEqual([plain.text, plain.empty, plain.int, plain.double], [entity.text, '', -5, 1.5]);
  assert.deepStrictEqual([...plain.bytes], [0, 1, 254, 255]);
  assert.strictEqual(plain.at.toISOString(), '2020-01-02T03:04:05.678Z');
  const filter = odata`PartitionKey eq ${partitionKey} and at lt ${new Date('2021-01-01T00:00:00Z')}`;
  assert.strictEqual((await all(client.listEntities({ queryOptions: { filter } }))).length, 1);
});

check('pages', async () => {
  const client = await fresh();
  for (let start = 0; start < 2500; start += 100) {
    const transaction = new TableTransaction();
    for (let at = start; at < start + 100; at++) {
      transaction.createEntity({ partitionKey: `p${Math.floor(start / 1000)}`, rowKey: String(at).padStart(5, '0'), n: at });
    }
    const { status, subResponses } = await client.submitTransaction(transaction.actions);
    assert.deepStrictEqual([status, subResponses.length], [202, 100]);
    assert.ok(subResponses.every((response) => response.status === 204 && response.etag && response.rowKey));
  }
  assert.deepStrictEqual((await all(client.listEntities())).map((entity) => entity.n), [...Array(2500).keys()]);
  const sizes = [];
  let token;
  for await (const page of client.listEntities().byPage({ maxPageSize: 999 })) {
    sizes.push(page.length);
    token = token ?? page.continuationToken;
  }
  assert.deepStrictEqual(sizes, [999, 999, 502]);
  const second = await client.listEntities().byPage({ maxPageSize: 999, continuationToken: token }).next();
  assert.strictEqual(second.value[0].n, 999);
  const few = await all(client.listEntities({ queryOptions: { filter: odata`n ge ${2490}`, select: ['n'] } }));
  assert.deepStrictEqual(few.map((entity) => entity.n), [...Array(10).keys()].map((at) => 2490 + at));
});

check('transactions', async () => {
  const client = await fresh();
  await client.createEntity({ partitionKey: 'p', rowKey: 'old', a: 1 });
  const transaction = new TableTransaction();
  transaction.createEntity({ partitionKey: 'p', rowKey: "it's", text: '100%25 "x"' });
  transaction.updateEntity({ partitionKey: 'p', rowKey: 'old', b: 2 }, 'Merge');
  transaction.upsertEntity({ partitionKey: 'p', rowKey: 'up' }, 'Replace');
  const { subResponses } = await client.submitTransaction(transaction.actions);
  // The SDK takes it from the Location as it stands there.
  assert.strictEqual(subResponses[0].rowKey, "it''s");
  assert.strictEqual((await client.getEntity('p', "it's")).text, '100%25 "x"');
  await refused(409, 'EntityAlreadyExists', () => client.submitTransaction([
    ['create', { partitionKey: 'p', rowKey: 'new' }], ['create', { partitionKey: 'p', rowKey: 'old' }]]));
  await refused(404, 'ResourceNotFound', () => client.getEntity('p', 'new'));
  await client.submitTransaction([["delete", { partitionKey: 'p', rowKey: 'old' }], ['delete', { partitionKey: 'p', rowKey: 'up' }]]);
});

check('signatures and policies', async () => {
  const client = await fresh();
  for (const row of ['a', 'b', 'c']) await client.createEntity({ partitionKey: row, rowKey: row });
  const expiresOn = new Date(Date.now() + 3600e3);
  const holder = (token) => new TableClient(url, client.tableName, new AzureSASCredential(token), options);
  const reader = holder(generateTableSas(client.tableName, credential, { permissions: { query: true }, expiresOn }));
  assert.strictEqual((await all(reader.listEntities())).length, 3);
  await refused(403, 'AuthorizationPermissionMismatch', () => reader.createEntity({ partitionKey: 'x', rowKey: 'x' }));
  const some = holder(generateTableSas(client.tableName, credential, {
    permissions: { query: true, add: true, update: true, delete: true }, expiresOn,
    startPartitionKey: 'b', startRowKey: 'b', endPartitionKey: 'b', endRowKey: 'z',
  }));
  assert.deepStrictEqual((await all(some.listEntities())).map((entity) => entity.rowKey), ['b']);
  await some.submitTransaction([['upsert', { partitionKey: 'b', rowKey: 'c' }]]);
  await refused(403, 'AuthorizationFailure', () => some.submitTransaction([['upsert', { partitionKey: 'c', rowKey: 'c' }]]));
  await client.setAccessPolicy([{ id: 'p1', accessPolicy: { expiry: expiresOn, permission: 'r' } }]);
  assert.strictEqual((await client.getAccessPolicy())[0].id, 'p1');
  const named = holder(generateTableSas(client.tableName, credential, { identifier: 'p1' }));
  assert.strictEqual((await all(named.listEntities())).length, 4);
  const token = generateAccountSas(credential, { expiresOn });
  const holderOfAccount = new TableServiceClient(url, new AzureSASCredential(token), options);
  assert.ok((await all(holderOfAccount.listTables())).length > 0);
  const wrong = new TableServiceClient(url, new AzureNamedKeyCredential(account, 'AAAA'), options);
  await refused(403, 'AuthenticationFailed', () => all(wrong.listTables()));
});

check('service properties', async () => {
  const properties = await service.getProperties();
  assert.strictEqual(properties.logging.version, '1.0');
  await service.setProperties({
    cors: [{ allowedOrigins: '*', allowedMethods: 'GET', allowedHeaders: '*', exposedHeaders: '*', maxAgeInSeconds: 5 }] });
  assert.strictEqual((await service.getProperties()).cors[0].maxAgeInSeconds, 5);
  await service.setProperties({ cors: [] });
});

run();
