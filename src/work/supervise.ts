import { createLog } from "../aws/log.ts";
import { systemClock } from "../aws/process.ts";
import { scaleInProtection } from "../aws/scale-in-protection.ts";
import type { Log } from "../core/ports/tasks.ts";
import { startHealth } from "./health.ts";
import { protectWhileRunning } from "./protect-container.ts";
import type { WorkSettings } from "./settings.ts";
import { Supervisor, type SupervisorOptions } from "./supervisor.ts";

/** Exit codes of a process that a second signal ends, as a shell shows them. */
const exitCodes = { SIGINT: 130, SIGTERM: 143 } as const;

/**
 * Runs a container worker in the foreground. The first SIGTERM or SIGINT stops it: running attempts go on for the drain
 * time, the rest is given back. The second one ends it now.
 * @param watch Called at its start. Default: nobody watches it.
 * @returns the exit code
 */
export async function supervise(
  settings: WorkSettings,
  fork: SupervisorOptions["fork"],
  watch?: (supervisor: Pick<Supervisor, "state">) => void,
): Promise<number> {
  const log = createLog("work");
  const supervisor = new Supervisor({ fork, log });
  watch?.(supervisor);
  const health =
    settings.healthPort === undefined ? undefined : await startHealth(settings.healthPort, () => supervisor.state);
  const { tiers, concurrency } = settings;
  log.info("the worker starts", { tiers, concurrency, ...(health && { health_port: health.port }) });
  const stopListening = onSignals(supervisor, settings, log);
  const protection = scaleInProtection({ clock: systemClock, log });
  const endProtection = protectWhileRunning(protection, systemClock, () => supervisor.state.running);
  const exitCode = await supervisor.run();
  stopListening();
  await endProtection();
  health?.close();
  log.info("the worker has ended", { exit_code: exitCode });
  return exitCode;
}

function onSignals(supervisor: Supervisor, { drainSeconds }: WorkSettings, log: Log): () => void {
  let stopping = false;
  const onSignal = (signal: keyof typeof exitCodes) => {
    if (stopping) {
      supervisor.kill();
      process.exit(exitCodes[signal]);
    }
    stopping = true;
    const { running } = supervisor.state;
    log.info("the worker stops: it starts no task any more, and gives back what still runs after the drain time", {
      running,
      drain_seconds: drainSeconds,
    });
    supervisor.stop(drainSeconds);
  };
  const listeners = (Object.keys(exitCodes) as (keyof typeof exitCodes)[]).map((signal) => {
    const listener = () => onSignal(signal);
    process.on(signal, listener);
    return () => process.off(signal, listener);
  });
  return () => {
    for (const stop of listeners) stop();
  };
}
