import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ChaosClient } from "./client.ts";
import { runCoordinators } from "./coordinators.ts";
import { runFamilies } from "./families.ts";
import { harms, noHarm } from "./killer.ts";
import { seededRandom } from "./random.ts";
import { runRound } from "./round.ts";
import { VictimServer } from "./server.ts";
import type { Planned } from "./workload.ts";

/** Starts on an empty state folder that are killed before the first round, and the longest time until each kill. */
const firstStarts = 5;
const firstStartMs = 2_000;

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    tasks: { type: "string", default: "100" },
    kills: { type: "string", default: "8" },
    // With families, each round runs these and no other tasks.
    families: { type: "string", default: "0" },
    children: { type: "string", default: "500" },
    // With coordinators, each round submits so many before each of its kills, and no other tasks.
    coordinators: { type: "string", default: "0" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    "limit-seconds": { type: "string", default: "420" },
  },
});
const { rounds, tasks, kills, families, coordinators, children } = {
  rounds: Number(values.rounds),
  tasks: Number(values.tasks),
  kills: Number(values.kills),
  families: Number(values.families),
  coordinators: Number(values.coordinators),
  children: Number(values.children),
};
const random = seededRandom(Number(values.seed));
const say = (line: string) => process.stdout.write(`${line}\n`);
const stateDir = mkdtempSync(join(tmpdir(), "offload-chaos-"));
const server = await VictimServer.prepare(stateDir, coordinators > 0 ? { OFFLOAD_TASKS: "test/chaos/tasks" } : {});
const ids = new Map<Planned, string>();
const total = noHarm();
const startedAt = Date.now();
let violations = 0;
const discarded = new Set<Planned>();

try {
  const load =
    coordinators > 0
      ? `${coordinators * kills} coordinators of ${children}`
      : families > 0
        ? `${families} families of ${children}`
        : `${tasks} tasks`;
  say(`Chaos: ${rounds} rounds of ${load} and at least ${kills} harms, seed ${values.seed}`);
  for (let count = 0; count < firstStarts; count += 1) await server.killInStart(random() * firstStartMs);
  for (let number = 1; number <= rounds; number += 1) {
    const giveUpAt = Date.now() + Number(values["limit-seconds"]) * 1000;
    const client = new ChaosClient(server.url, giveUpAt);
    const roundAt = Date.now();
    await server.start();
    const common = { kills, random, server, client, giveUpAt };
    const round =
      coordinators > 0
        ? await runCoordinators({ ...common, number, coordinators, children })
        : families > 0
          ? await runFamilies({ ...common, number, families, children })
          : await runRound({ ...common, number, tasks, ids, discarded });
    for (const harm of harms) total[harm] += round.harms[harm];
    violations += round.violations.length;
    const seconds = ((Date.now() - roundAt) / 1000).toFixed(0);
    say(`  round ${number}: ${load} in ${seconds} s; ${described(round.harms)}`);
    for (const violation of round.violations) say(`  VIOLATION ${violation}`);
  }
  const minutes = ((Date.now() - startedAt) / 60_000).toFixed(1);
  say(`${minutes} minutes; ${described(total)}; ${discarded.size} of ${ids.size} tasks discarded`);
  say(
    violations === 0
      ? "Every promise held."
      : `${violations} violations; again with: npm run test:chaos -- --rounds ${rounds} --seed ${values.seed}`,
  );
} catch (error) {
  violations += 1;
  say(`The run ended early: ${String(error)}`);
} finally {
  await server.stop();
  if (violations === 0) rmSync(stateDir, { recursive: true, force: true });
  else say(`The state folder was kept: ${stateDir}. The server's last lines:\n${server.output}`);
  process.exitCode = violations === 0 ? 0 : 1;
}

/** The numbers of harms, in words. */
function described(done: typeof total): string {
  return harms.map((harm) => `${done[harm]} ${harm}`).join(", ");
}
