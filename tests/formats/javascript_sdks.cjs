// Dumps the table Canon as users of the JavaScript SDKs do.
const fs = require("fs");
const { TableClient } = require("@azure/data-tables");
const storage = require("azure-storage");
const out = process.argv[2];
const replacer = (_, value) => (typeof value === "bigint" ? value.toString() : value);
async function dump(name, options) {
  const client = TableClient.fromConnectionString(process.env.CONNECTION, "Canon", { allowInsecureConnection: true });
  const entities = [];
  for await (const entity of client.listEntities(options)) entities.push(entity);
  fs.writeFileSync(`${out}/${name}.json`, JSON.stringify(entities, replacer, 2));
}
(async () => {
  await dump("js", {});
  await dump("js-no-conversion", { disableTypeConversion: true });
  const service = storage.createTableService(process.env.CONNECTION);
  await new Promise((resolve, reject) =>
    service.queryEntities("Canon", new storage.TableQuery(), null, (error, result) => {
      if (error) return reject(error);
      fs.writeFileSync(`${out}/azure-storage.json`, JSON.stringify(result.entries));
      resolve();
    })
  );
})();
