import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ChaosClient } from "../chaos/client.ts";
import type { VictimServer } from "../chaos/server.ts";
import { among } from "../chaos/workload.ts";
import { judge, type Listed } from "./judge.ts";
import { type Accepted, type Key, type Kind, keysOf, moments, submitAll, token } from "./load.ts";
import { note, notesIn } from "./notes.ts";

/** Longest time after which a starting server is killed, in milliseconds. */
const startMs = 2_500;

export interface Options {
  /** Submits in all, of all keys. */
  submits: number;
  keys: number;
  /** Kills of the server. A fifth as many workers are killed, too. */
  kills: number;
  random: () => number;
  server: VictimServer;
  giveUpAt: number;
}

export interface Outcome {
  violations: string[];
  /** Figures of the run, by their names. */
  figures: Record<string, number>;
}

const endings = ["completed", "failed", "cancelled", "expired"];

/** Submits all, kills meanwhile, waits in peace for the ends, and judges. The server runs before and after. */
export async function play(options: Options): Promise<Outcome> {
  const { submits, keys: count, random, server, giveUpAt } = options;
  const client = new ChaosClient(server.url, giveUpAt);
  const notes = join(server.stateDir, "notes");
  const keys = keysOf(submits, count);
  const all = keys.reduce((sum, key) => sum + key.count, 0);
  const moment = moments();
  let answered = 0;
  const load = { client, random, notes, onAccepted: () => void answered++ };
  const submitting = Promise.all(keys.map((key) => submitAll(load, key, moment)));
  const killing = harm(options, notes, () => answered / all);
  const [accepted, harms] = await Promise.all([submitting, killing]);
  const submittedAt = Date.now();
  const known = new Set(accepted.flatMap((all) => all.map(({ task }) => task)));
  const tasks = await allEnded(client, giveUpAt, known);
  const violations = judgeAll(keys, accepted, tasks, notes);
  const dids = notesIn(notes).filter(({ what }) => what === "start");
  const waited = Math.round((Date.now() - submittedAt) / 1000);
  return { violations, figures: { submits: all, ...harms, tasks: tasks.size, attempts: dids.length, waited } };
}

/** Kills the server whenever a further part of the submits was answered, and a worker now and then. */
async function harm({ kills, random, server }: Options, notes: string, part: () => number) {
  const done = { "kills of the server": 0, "of these in its start": 0, "kills of a worker": 0 };
  for (let kill = 1; kill <= kills; kill++) {
    while (part() < kill / (kills + 1)) await sleep(20);
    if (kill % 5 === 0) done["kills of a worker"] += killWorker(server, notes, random);
    await sleep(random() * 300);
    note(notes, { what: "killed", pids: server.workers() });
    if (random() < 0.3) {
      await server.killInStart(random() * startMs);
      done["of these in its start"] += 1;
      note(notes, { what: "killed", pids: server.orphans() });
    } else await server.kill();
    done["kills of the server"] += 1;
    await server.start();
  }
  return done;
}

/** Returns the number of killed workers. */
function killWorker(server: VictimServer, notes: string, random: () => number): number {
  const workers = server.workers();
  if (workers.length === 0) return 0;
  const pid = among(workers, random);
  note(notes, { what: "killed", pids: [pid] });
  try {
    process.kill(pid, "SIGKILL");
    return 1;
  } catch {
    return 0;
  }
}

/** Part of the time in which all tasks are read, at most: the reads keep the server from its tasks. */
const readPart = 0.1;

/**
 * All tasks of the types, when the known ones have ended or the time is up. A submit that died may have left a task that nobody was answered with:
 * the task never starts, and the daily reconciliation withdraws it. A server that is busy with its restart may answer late.
 */
async function allEnded(
  client: ChaosClient,
  giveUpAt: number,
  known: ReadonlySet<string>,
): Promise<Map<string, Listed>> {
  for (;;) {
    const startedAt = Date.now();
    const isLast = startedAt > giveUpAt;
    try {
      const tasks = [
        ...(await listed(client, "collect")),
        ...(await listed(client, "restart")),
        ...(await listed(client, "strict")),
      ];
      const isOver = tasks.every(({ status, task_id }) => endings.includes(status) || !known.has(task_id));
      if (isOver || isLast) return new Map(tasks.map((task) => [task.task_id, task]));
    } catch (error) {
      if (isLast) throw error;
    }
    const readMs = Date.now() - startedAt;
    await sleep(Math.max(2_000, Math.min(readMs / readPart, giveUpAt - Date.now())));
  }
}

const listed = (client: ChaosClient, kind: Kind): Promise<Listed[]> =>
  client.readAll(token, `/tasks?limit=100&type=kills.${kind}`, "tasks");

function judgeAll(
  keys: readonly Key[],
  accepted: readonly (readonly Accepted[])[],
  tasks: ReadonlyMap<string, Listed>,
  file: string,
): string[] {
  const notes = notesIn(file);
  const known = new Set(accepted.flatMap((all) => all.map(({ task }) => task)));
  const started = new Set(notes.flatMap((one) => (one.what === "start" ? [one.task] : [])));
  const strangers = [...tasks.keys()].filter((id) => !known.has(id));
  return [
    ...strangers.filter((id) => started.has(id)).map((id) => `${id} ran, and no submit was answered with it`),
    ...keys.flatMap((key, index) => {
      const own = accepted[index] ?? [];
      const ids = new Set(own.map(({ task }) => task));
      return judge({
        key,
        accepted: own,
        tasks: new Map([...tasks].filter(([id]) => ids.has(id))),
        notes: notes.filter((one) => one.what === "killed" || one.key === key.name),
      });
    }),
  ];
}
