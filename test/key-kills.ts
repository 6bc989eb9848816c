import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { seededRandom } from "./chaos/random.ts";
import { VictimServer } from "./chaos/server.ts";
import { play } from "./key-kills/play.ts";

/*
 * Submits of many unique and strict keys to a local server that is killed again and again: each accepted input is in one handled list, the last one of
 * `restart` runs to its end, never two tasks of a key at once, and all in their order. Ends with exit code 1 when something is wrong.
 *
 *     npm run test:key-kills -- --submits 20000 --keys 50 --kills 60
 */

const { values } = parseArgs({
  options: {
    submits: { type: "string", default: "20000" },
    keys: { type: "string", default: "50" },
    kills: { type: "string", default: "60" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    "limit-seconds": { type: "string", default: "1800" },
  },
});
const say = (line: string) => process.stdout.write(`${line}\n`);
const stateDir = mkdtempSync(join(tmpdir(), "offload-key-kills-"));
const server = await VictimServer.prepare(stateDir, { OFFLOAD_TASKS: "test/key-kills/tasks" });
const startedAt = Date.now();
let isClean = false;
try {
  say(`${values.submits} submits of ${values.keys} keys, ${values.kills} kills, seed ${values.seed}`);
  await server.start();
  const { violations, figures } = await play({
    submits: Number(values.submits),
    keys: Number(values.keys),
    kills: Number(values.kills),
    random: seededRandom(Number(values.seed)),
    server,
    giveUpAt: startedAt + Number(values["limit-seconds"]) * 1000,
  });
  for (const violation of violations) say(`VIOLATION ${violation}`);
  say(`${Math.round((Date.now() - startedAt) / 1000)} s; ${JSON.stringify(figures)}`);
  isClean = violations.length === 0;
  say(isClean ? "Every promise held." : `${violations.length} violations.`);
} catch (error) {
  say(`The run ended early: ${String(error)}`);
} finally {
  await server.stop();
  if (isClean) rmSync(stateDir, { recursive: true, force: true });
  else say(`The state folder was kept: ${stateDir}. The server's last lines:\n${server.output}`);
  process.exitCode = isClean ? 0 : 1;
}
