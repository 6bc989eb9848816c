import { parseArgs } from "node:util";
import { apiRoutes } from "../../src/api/http/routes.ts";
import { fuzz } from "./fuzz.ts";

/*
 * Attacks the API with requests made from its OpenAPI document: `npm run test:fuzz -- --requests 100000 --seed 7`. It
 * prints each fault with its seed, and ends with code 1 if there is one.
 */

const { values } = parseArgs({
  options: {
    requests: { type: "string", default: "100000" },
    seed: { type: "string", default: "1" },
    faults: { type: "string", default: "1" },
  },
});

const started = performance.now();
const seen = await fuzz(Number(values.requests), Number(values.seed), Number(values.faults));
const seconds = Math.round((performance.now() - started) / 1000);
const statuses = [...seen.statuses].sort(([a], [b]) => a - b).map(([status, count]) => `${count} x ${status}`);
console.log(`${seen.requests} requests in ${seconds} s: ${statuses.join(", ")}`);
const never = apiRoutes.filter(({ name }) => !seen.succeeded.has(name)).map(({ name }) => name);
if (never.length > 0) console.log(`Never answered with success: ${never.join(", ")}`);
for (const { seed, request, fault } of seen.faults) {
  console.log(`\nseed ${seed}: ${JSON.stringify(request).slice(0, 2_000)}\n${fault.slice(0, 2_000)}`);
}
console.log(`${seen.faults.length} faults`);
process.exitCode = seen.faults.length === 0 ? 0 : 1;
