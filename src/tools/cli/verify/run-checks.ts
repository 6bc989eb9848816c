import { setTimeout as sleep } from "node:timers/promises";
import { textOf } from "../connection.ts";
import { type Check, NotPossible, type Outcome, type Tools, type VerifyClock } from "./check.ts";
import { reasonWithout } from "./target.ts";

/** The checks stop: Ctrl-C, or the end of the time. */
class Stopped extends NotPossible {}

/** The machine's clock, whose pauses end when the checks have to stop. */
export class StoppableClock implements VerifyClock {
  readonly #stop = new AbortController();
  /** Rejects when the checks have to end. */
  readonly stopped: Promise<never>;

  constructor() {
    const { signal } = this.#stop;
    this.stopped = new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    // It may have no listener yet.
    this.stopped.catch(() => {});
  }

  now(): number {
    return Date.now();
  }

  async pause(ms: number): Promise<void> {
    const { signal } = this.#stop;
    signal.throwIfAborted();
    await sleep(ms, undefined, { signal }).catch((error: unknown) => {
      throw signal.aborted ? signal.reason : error;
    });
  }

  /** True when the checks had to stop before their end. */
  isStopped = false;

  /** Ends all pauses, and the checks with them. */
  stop(reason: string): void {
    this.isStopped = true;
    this.#stop.abort(new Stopped(reason));
  }

  /** Ends the pauses of checks that have had their time. */
  end(): void {
    this.#stop.abort(new Stopped("all checks have ended"));
  }
}

/** The machine's clock, for the clean-up: nothing stops it. */
export const machineClock: VerifyClock = {
  now: () => Date.now(),
  pause: async (ms) => {
    await sleep(ms);
  },
};

/**
 * Runs checks: first the checks of `waits`, alone; then the checks that mostly wait, in parallel; at last the checks
 * that read what the others left in the logs.
 * @param ended called after each check
 * @returns The outcomes in the order of the checks, and a promise that resolves when the checks that did not end in
 * time have ended, with their clean-up.
 */
export async function runChecks(
  checks: readonly Check[],
  tools: Tools,
  { stopped }: Pick<StoppableClock, "stopped">,
  ended: (outcome: Outcome) => void,
): Promise<{ outcomes: Outcome[]; allEnded: Promise<unknown> }> {
  const outcomes = new Map<Check, Outcome>();
  const running: Promise<unknown>[] = [];
  const run = async (check: Check) => {
    const start = async () => {
      // Nothing begins once the checks have to stop.
      await tools.clock.pause(0);
      const run = check.run(tools);
      running.push(run);
      return Promise.race([run, outOfTime(check, tools), stopped]);
    };
    const outcome = await outcomeOf(check, tools, start);
    outcomes.set(check, outcome);
    ended(outcome);
  };
  for (const part of [first, beside, last]) await Promise.all(checks.filter(part).map(run));
  return { outcomes: checks.flatMap((check) => outcomes.get(check) ?? []), allEnded: Promise.allSettled(running) };
}

const first = ({ group }: Check): boolean => group === "waits";
const last = ({ group }: Check): boolean => group === "logs";
const beside = (check: Check): boolean => !first(check) && !last(check);

async function outcomeOf(check: Check, tools: Tools, start: () => Promise<string>): Promise<Outcome> {
  const { group, name, expected } = check;
  try {
    const lacking = check.needs.map((need) => reasonWithout(tools.target, need)).find((reason) => reason !== undefined);
    if (lacking !== undefined) throw new NotPossible(lacking);
    return { group, name, expected, verdict: "ok", seen: await start() };
  } catch (error) {
    const verdict = error instanceof NotPossible || isLacking(error) ? "not possible here" : "differs";
    return { group, name, expected, verdict, seen: textOf(error) };
  }
}

/** Errors of AWS for credentials that may not do it, and of emulators for operations that they do not know. */
const lacking = /^(AccessDenied|NotAuthorized|UnauthorizedOperation|InvalidAction|UnknownOperation)/;

const isLacking = (error: unknown): boolean =>
  error instanceof Error && (lacking.test(error.name) || /^Unknown (action|operation)\b/i.test(error.message));

/** Rejects when a check has taken its time. */
async function outOfTime({ most }: Check, { clock }: Tools): Promise<never> {
  await clock.pause(most.seconds * 1000);
  throw new Error(`not ended after ${most.seconds} s`);
}
