// Named checks that all run, whatever the others do.
'use strict';

const checks = [];

// Registers work; its name is what it claims.
function check(name, work) {
  checks.push([name, work]);
}

// Runs all checks, one after the other. Exits with 1 if one fails.
async function run() {
  let failed = 0;
  for (const [name, work] of checks) {
    try {
      await work();
    } catch (error) {
      failed += 1;
      console.error(`FAILED ${name}\n`, error);
    }
  }
  console.log(`${checks.length - failed} of ${checks.length} checks passed`);
  process.exit(failed === 0 && checks.length > 0 ? 0 : 1);
}

module.exports = { check, run };
