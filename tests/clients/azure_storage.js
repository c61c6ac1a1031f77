// azure-storage (npm), the SDK before @azure/data-tables, against `rowkey serve`, whose URL is in ROWKEY_REST.
'use strict';

const assert = require('assert');
const { promisify } = require('util');
const azure = require('azure-storage');
const { check, run } = require('./checks.js');

const key = 'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==';
const connection = 'DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;' +
  `AccountKey=${key};TableEndpoint=${process.env.ROWKEY_REST};`;
const service = azure.createTableService(connection).withFilter(new azure.LinearRetryPolicyFilter(0, 1));
const { entityGenerator: of, TableQuery, TableBatch } = { ...azure.TableUtilities, ...azure };
const call = (name, ...given) => promisify(service[name].bind(service))(...given);
let tables = 0;

async function fresh() {
  const table = `S${process.pid}x${tables++}`;
  await call('createTable', table);
  return table;
}

async function refused(status, code, work) {
  const error = await work().then(() => { throw new Error(`wanted ${code}, but it worked`); }, (error) => error);
  assert.deepStrictEqual([error.statusCode, error.code], [status, code], error.stack);
}

check('tables', async () => {
  const table = await fresh();
  await refused(409, 'TableAlreadyExists', () => call('createTable', table));
  await call('createTableIfNotExists', table);
  const { entries } = await call('listTablesSegmentedWithPrefix', table, null);
  assert.deepStrictEqual(entries, [table]);
  await call('deleteTable', table);
  await refused(404, 'TableNotFound', () => call('retrieveEntity', table, 'p', 'r'));
});

check('entities', async () => {
  const table = await fresh();
  const entity = {
    PartitionKey: of.String("O'Brien %25 é"), RowKey: of.String('r'), N: of.Int32(5), Long: of.Int64('9223372036854775807'),
    At: of.DateTime(new Date('2020-01-02T03:04:05.678Z')), Id: of.Guid('0d391d16-97f1-4b9a-be68-4cc871f90001'),
    Bytes: of.Binary(Buffer.from([0, 255])), Double: of.Double(1.5), Yes: of.Boolean(true),
  };
  const inserted = await call('insertEntity', table, entity);
  await refused(409, 'EntityAlreadyExists', () => call('insertEntity', table, entity));
  const read = await call('retrieveEntity', table, "O'Brien %25 é", 'r');
  assert.strictEqual(read['.metadata'].etag, inserted['.metadata'].etag);
  assert.deepStrictEqual([read.N._, read.Long._, read.Double._, read.Yes._], [5, '9223372036854775807', 1.5, true]);
  assert.strictEqual(read.At._.toISOString(), '2020-01-02T03:04:05.678Z');
  assert.deepStrictEqual([...read.Bytes._], [0, 255]);
  const { PartitionKey, RowKey } = entity;
  await call('mergeEntity', table, { PartitionKey, RowKey, More: of.String('x') });
  assert.strictEqual((await call('retrieveEntity', table, PartitionKey._, 'r')).N._, 5);
  await refused(412, 'UpdateConditionNotSatisfied', () => call('replaceEntity', table, read));
  await call('insertOrReplaceEntity', table, { PartitionKey, RowKey, Only: of.Int32(1) });
  assert.strictEqual((await call('retrieveEntity', table, PartitionKey._, 'r')).N, undefined);
  await call('insertOrMergeEntity', table, { PartitionKey, RowKey: of.String('new') });
  await call('deleteEntity', table, { PartitionKey, RowKey });
  await refused(404, 'ResourceNotFound', () => call('deleteEntity', table, { PartitionKey, RowKey }));
});

check('batches and pages', async () => {
  const table = await fresh();
  for (let start = 0; start < 1200; start += 100) {
    const batch = new TableBatch();
    for (let at = start; at < start + 100; at++) {
      batch.insertEntity({ PartitionKey: of.String('p'), RowKey: of.String(String(at).padStart(5, '0')), N: of.Int32(at) });
    }
    assert.strictEqual((await call('executeBatch', table, batch)).length, 100);
  }
  const numbers = [];
  let token = null;
  do {
    const page = await call('queryEntities', table, new TableQuery(), token);
    numbers.push(...page.entries.map((entity) => entity.N._));
    token = page.continuationToken;
  } while (token);
  assert.deepStrictEqual(numbers, [...Array(1200).keys()]);
  const query = new TableQuery().select('N').where('PartitionKey == ? and N >= ?', 'p', 1198);
  assert.deepStrictEqual((await call('queryEntities', table, query, null)).entries.map((e) => e.N._), [1198, 1199]);
  const failing = new TableBatch();
  failing.insertEntity({ PartitionKey: of.String('p'), RowKey: of.String('new') });
  failing.insertEntity({ PartitionKey: of.String('p'), RowKey: of.String('00001') });
  await refused(409, 'EntityAlreadyExists', () => call('executeBatch', table, failing));
  await refused(404, 'ResourceNotFound', () => call('retrieveEntity', table, 'p', 'new'));
});

check('signatures', async () => {
  const table = await fresh();
  await call('insertEntity', table, { PartitionKey: of.String('a'), RowKey: of.String('1') });
  const token = service.generateSharedAccessSignature(table, {
    AccessPolicy: { Permissions: 'r', Expiry: new Date(Date.now() + 3600_000) },
  });
  const reader = azure.createTableServiceWithSas(process.env.ROWKEY_REST, token);
  const read = promisify(reader.retrieveEntity.bind(reader));
  assert.strictEqual((await read(table, 'a', '1')).RowKey._, '1');
  const insert = promisify(reader.insertEntity.bind(reader));
  await refused(403, 'AuthorizationPermissionMismatch',
    () => insert(table, { PartitionKey: of.String('b'), RowKey: of.String('1') }));
});

run();
