import { type ChildProcess, fork } from "node:child_process";
import { createLog } from "../../aws/log.ts";
import { keptVariables } from "../../code/describe/worker-environment.ts";
import { tiers } from "../../core/model/words.ts";
import { codeFile } from "../../installed/installation.ts";
import { type Role, roleVariable } from "../../work/messages.ts";
import { memoryFlags, variableOf, type WorkSettings } from "../../work/settings.ts";
import { Supervisor } from "../../work/supervisor.ts";
import { containerQueueName } from "../deployment/resources.ts";
import type { QueueStore } from "../sqs/queue-store.ts";
import { distantWorks, hasDistant } from "../time/distant-followers.ts";
import { follow } from "../time/followers.ts";
import { movedMs, movedVariable } from "../time/moved-time.ts";
import type { Player } from "../time/mover.ts";

/** Attempts of the old code may go on for this time after a reload, in seconds: the longest attempt. */
const reloadDrainSeconds = 43_200;

/** Starts a process of a container worker with the project's task files. */
export const forkContainerProcess = (
  role: Role,
  env: Record<string, string>,
  settings: Pick<WorkSettings, "memoryMb">,
): ChildProcess =>
  fork(codeFile("src/local/workers/container-process"), {
    env: { ...keptVariables(process.env), ...env, [roleVariable]: role },
    execArgv: [...memoryFlags(settings), "--enable-source-maps"],
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });

/**
 * A process that received a message begins to work on it, or sends it again, within this time, in milliseconds: the
 * process first waits for the proof that the higher tiers are empty. The message of a dead process waits in its queue.
 */
const beginsMs = 3_000;

/** A process that stops has this time, in milliseconds: also for what `tasks/process.ts` does at its end. */
const endMs = 5_000;

export interface LocalContainerWorker {
  /** Its part in a move of the server's clock. */
  player: Player;
  /** Replaces its process by a new one, which loads the task files again. */
  renew(): void;
  /** Ends the worker. Its running attempts are not counted, and their tasks start again. */
  stop(): Promise<void>;
}

/**
 * Starts the local server's worker for container types when their first message comes.
 * @param env Environment of its handlers.
 */
export function startContainerWorker(
  store: QueueStore,
  concurrency: number,
  env: () => Record<string, string>,
): LocalContainerWorker {
  const queues = tiers.map(containerQueueName);
  const nextAt = () => store.nextAt(queues);
  const waitsFor = waitsForTasks(store, queues);
  if (concurrency === 0) {
    const busyWith = () => (hasDistant() ? waitsFor(distantWorks()) : undefined);
    return { player: { nextAt, busyWith }, renew: () => {}, stop: async () => {} };
  }
  const own = { [variableOf("concurrency")]: String(concurrency) };
  const supervisor = new Supervisor({
    fork: (role) => {
      const time = { [movedVariable]: String(movedMs()) };
      return follow(forkContainerProcess(role, { ...env(), ...own, ...time }, { memoryMb: undefined }));
    },
    log: createLog("work"),
  });
  let running: Promise<number> | undefined;
  const start = () => {
    listening.abort();
    running ??= supervisor.run();
  };
  const listening = new AbortController();
  for (const queue of queues) {
    void store.whenAvailable(queue, listening.signal).then(() => listening.signal.aborted || start());
  }
  const busyWith = () => waitsFor(running !== undefined && supervisor.state.running > 0);
  return {
    player: { nextAt, busyWith },
    renew() {
      if (running !== undefined) supervisor.renew(reloadDrainSeconds);
    },
    async stop() {
      listening.abort();
      if (running === undefined) return;
      supervisor.stop(0);
      const late = setTimeout(() => supervisor.kill(), endMs);
      await running;
      clearTimeout(late);
    },
  };
}

/**
 * Returns the words for what a move waits for: attempts that run, messages that nobody has received, and those that
 * were received a moment ago. Undefined: it waits for nothing.
 */
function waitsForTasks(store: QueueStore, queues: readonly string[]): (works: boolean) => string | undefined {
  let [seen, changedAt] = ["", 0];
  return (works) => {
    const counts = queues.map((queue) => store.counts(queue));
    const now = JSON.stringify([works, counts.map(({ visible, inFlight }) => [visible, inFlight])]);
    if (now !== seen) [seen, changedAt] = [now, performance.now()];
    const isHeld = counts.some(({ inFlight }) => inFlight > 0) && performance.now() - changedAt < beginsMs;
    return works || isHeld || counts.some(({ visible }) => visible > 0) ? "a task in a container" : undefined;
  };
}
