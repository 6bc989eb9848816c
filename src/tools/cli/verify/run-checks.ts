import { textOf } from "../connection.ts";
import { type Check, NotPossible, type Outcome, type Tools } from "./check.ts";

/** Stops the checks that still run, with a reason that the report gives. */
export interface Stop {
  /** Rejects when the checks have to end. */
  readonly stopped: Promise<never>;
}

/** The checks stop: Ctrl-C, or the end of the time. */
export class Stopped extends NotPossible {}

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
  { stopped }: Stop,
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
    const lacking = check.needs.map((need) => tools.target.reasonWithout(need)).find((reason) => reason !== undefined);
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
