import { type ChildProcess, fork } from "node:child_process";
import { createLog } from "../../aws/log.ts";
import { tiers } from "../../core/model/tier.ts";
import { keptVariables } from "../../describe/worker-environment.ts";
import { codeFile } from "../../installed/installation.ts";
import { type Role, roleVariable } from "../../work/messages.ts";
import { memoryFlags, variableOf, type WorkSettings } from "../../work/settings.ts";
import { Supervisor } from "../../work/supervisor.ts";
import { containerQueueName } from "../deployment/resources.ts";
import type { QueueStore } from "../sqs/queue-store.ts";

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

export interface LocalContainerWorker {
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
  if (concurrency === 0) return { renew: () => {}, stop: async () => {} };
  const own = { [variableOf("concurrency")]: String(concurrency) };
  const supervisor = new Supervisor({
    fork: (role) => forkContainerProcess(role, { ...env(), ...own }, { memoryMb: undefined }),
    log: createLog("work"),
  });
  let running: Promise<number> | undefined;
  const start = () => {
    listening.abort();
    running ??= supervisor.run();
  };
  const listening = new AbortController();
  for (const tier of tiers) {
    void store
      .whenAvailable(containerQueueName(tier), listening.signal)
      .then(() => listening.signal.aborted || start());
  }
  return {
    renew() {
      if (running !== undefined) supervisor.renew(reloadDrainSeconds);
    },
    async stop() {
      listening.abort();
      if (running === undefined) return;
      supervisor.stop(0);
      const late = setTimeout(() => supervisor.kill(), 2_000);
      await running;
      clearTimeout(late);
    },
  };
}
