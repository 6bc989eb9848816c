import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { check, type Ended } from "./check.ts";
import { seededRandom } from "./random.ts";
import { VictimServer } from "./server.ts";
import { type Planned, plan } from "./workload.ts";

const { values } = parseArgs({
  options: {
    tasks: { type: "string", default: "500" },
    kills: { type: "string", default: "25" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    "limit-seconds": { type: "string", default: "420" },
  },
});
const count = Number(values.tasks);
const kills = Number(values.kills);
const random = seededRandom(Number(values.seed));
const giveUpAt = Date.now() + Number(values["limit-seconds"]) * 1000;
const headers = { authorization: "Bearer dev-acme", "content-type": "application/json" };
const say = (line: string) => process.stdout.write(`${line}\n`);
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Repeats a request with the same content until the server, which may be dead right now, has answered it. */
async function insist(path: string, init: RequestInit = {}): Promise<Record<string, unknown>> {
  for (;;) {
    if (Date.now() > giveUpAt) throw new Error(`${path}: no answer before the time was up`);
    try {
      const response = await fetch(server.url + path, {
        ...init,
        headers: { ...headers, ...init.headers },
        signal: AbortSignal.timeout(10_000),
      });
      if (response.status < 500 && response.status !== 429) return (await response.json()) as Record<string, unknown>;
    } catch {
      // The server was killed under the request: exactly what an Idempotency-Key is for.
    }
    await pause(200);
  }
}

async function submitAll(planned: readonly Planned[]): Promise<Map<Planned, string>> {
  const ids = new Map<Planned, string>();
  const queue = [...planned];
  const client = async () => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const answer = await insist("/tasks", {
        method: "POST",
        headers: { "idempotency-key": next.key },
        body: JSON.stringify(next.body),
      });
      if (typeof answer.task_id !== "string") throw new Error(`a submit was refused: ${JSON.stringify(answer)}`);
      ids.set(next, answer.task_id);
      await pause(random() * 400);
    }
  };
  await Promise.all(Array.from({ length: 10 }, client));
  return ids;
}

/** Kills a worker most of the time, the server now and then. */
async function killAround(stop: () => boolean): Promise<{ workers: number; servers: number }> {
  const done = { workers: 0, servers: 0 };
  while (!stop() || done.workers + done.servers < kills) {
    await pause(300 + random() * 900);
    if (random() < 0.2) {
      await server.kill();
      done.servers += 1;
      await pause(random() * 500);
      await server.start();
    } else {
      const pids = server.workers();
      const pid = pids[Math.floor(random() * pids.length)];
      if (pid === undefined) continue;
      process.kill(pid, "SIGKILL");
      done.workers += 1;
    }
  }
  return done;
}

async function waitForEnds(ids: Map<Planned, string>): Promise<Map<Planned, Ended>> {
  const ended = new Map<Planned, Ended>();
  while (ended.size < ids.size && Date.now() < giveUpAt) {
    for (const [planned, id] of ids) {
      if (ended.has(planned)) continue;
      const task = await insist(`/tasks/${id}`);
      if (!["completed", "failed", "cancelled", "expired"].includes(String(task.status))) continue;
      const { attempts } = (await insist(`/tasks/${id}/attempts`)) as { attempts: Ended["history"] };
      ended.set(planned, { task, history: attempts });
    }
    say(`  ${ended.size} of ${ids.size} have ended`);
    await pause(2_000);
  }
  return ended;
}

const stateDir = mkdtempSync(join(tmpdir(), "offload-chaos-"));
const server = await VictimServer.prepare(stateDir);
try {
  say(`Chaos: ${count} tasks, at least ${kills} kills, seed ${values.seed}`);
  await server.start();
  const planned = plan(count, random);
  let submitted = false;
  const killing = killAround(() => submitted);
  const ids = await submitAll(planned);
  submitted = true;
  const killed = await killing;
  say(`  ${killed.workers} workers and the server ${killed.servers} times were killed; now it is left in peace`);
  const violations = check(planned, ids, await waitForEnds(ids));
  for (const violation of violations) say(`  VIOLATION ${violation}`);
  say(
    violations.length === 0
      ? "Every promise held."
      : `${violations.length} violations; again with: npm run test:chaos -- --seed ${values.seed}`,
  );
  process.exitCode = violations.length === 0 ? 0 : 1;
} finally {
  await server.stop();
  rmSync(stateDir, { recursive: true, force: true });
}
