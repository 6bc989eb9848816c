import type { VerifiedAccount } from "../../../aws/verified/verified-account.ts";
import type { Admin, SubmitOptions, TaskView } from "../../../client/index.ts";
import type { Transport } from "../../../client/transport.ts";
import type { Prober } from "../prober.ts";
import type { Need, Sample, Target } from "./target.ts";

/**
 * Groups of checks, by which `--only` selects them. The checks of `waits` run first and alone, the checks of `logs`
 * last.
 */
export const groups = [
  "waits",
  "delays",
  "schedules",
  "files",
  "crashes",
  "alarms",
  "containers",
  "push",
  "burst",
  "logs",
] as const;
export type Group = (typeof groups)[number];

/** The tools of a check. */
export interface Tools {
  readonly target: Target;
  readonly prober: Prober;
  readonly admin: Admin;
  /** Requests that the client has no method for. */
  readonly transport: Transport;
  readonly clock: VerifyClock;
  /** Time at which the command began, in epoch milliseconds. */
  readonly startedAtMs: number;
}

/** Time as the checks see it. */
export interface VerifyClock {
  /** Epoch milliseconds. */
  now(): number;
  pause(ms: number): Promise<void>;
}

/** Upper bounds of a check. */
interface Most {
  readonly tasks: number;
  readonly seconds: number;
  /** US dollars beside those of tasks and requests. Default: 0. */
  readonly dollars?: number;
}

/** One check. */
export interface Check {
  readonly group: Group;
  readonly name: string;
  readonly expected: string;
  readonly needs: readonly Need[];
  readonly most: Most;
  /** A sentence for the people of the deployment, who notice the check. */
  readonly warning?: string;
  /**
   * Returns what was seen, which is as expected.
   * @throws Differs, NotPossible; any other error counts as a difference
   */
  run(tools: Tools): Promise<string>;
}

/** The check has seen something else than it expected. */
export class Differs extends Error {}

/** The check cannot be made here. The message is the reason. */
export class NotPossible extends Error {}

export type Verdict = "ok" | "differs" | "not possible here";

/** The end of a check. */
export interface Outcome extends Pick<Check, "group" | "name" | "expected"> {
  readonly verdict: Verdict;
  /** The observation, or the reason why the check was not possible. */
  readonly seen: string;
}

/** Returns what was seen. @throws Differs when it is not as expected */
export function expectSeen(isExpected: boolean, seen: string): string {
  if (!isExpected) throw new Differs(seen);
  return seen;
}

/** Task type and input of tasks that complete. Checks that call it need `sample`. */
export function sampleOf({ target: { sample } }: Pick<Tools, "target">): Sample {
  if (sample === undefined) throw new NotPossible("no task type completes for sure");
  return sample;
}

/** Submits a task of that type. Returns the completed task. */
export function completed(tools: Tools, options?: SubmitOptions): Promise<TaskView> {
  const { type, input } = sampleOf(tools);
  return tools.prober.completed(type, input, options);
}

/** The AWS account. Checks that call it need `account`. */
export function accountOf({ target: { account } }: Pick<Tools, "target">): VerifiedAccount {
  if (account === undefined) throw new NotPossible("needs AWS credentials: give --stack");
  return account;
}

/**
 * Looks until there is something to see.
 * @param look returns it, or as a text why it is not what was expected
 * @throws Differs with that text when there is nothing within the time
 */
export async function untilSeen<T>(
  { clock }: Pick<Tools, "clock">,
  { withinMs, everyMs }: { withinMs: number; everyMs: number },
  look: () => Promise<T | string>,
): Promise<T> {
  const endMs = clock.now() + withinMs;
  for (;;) {
    const seen = await look();
    if (typeof seen !== "string") return seen;
    if (clock.now() > endMs) throw new Differs(seen);
    await clock.pause(everyMs);
  }
}

/** Whole seconds since a time of the checks' clock. */
export const secondsSince = ({ clock }: Pick<Tools, "clock">, ms: number): number =>
  Math.round((clock.now() - ms) / 1000);

/** Milliseconds between two times of a task. */
export const msBetween = (from: string | null, to: string | null): number =>
  Date.parse(to ?? "") - Date.parse(from ?? "");
