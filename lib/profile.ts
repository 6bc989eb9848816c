import { defaultConcurrency, type PerTier } from "../src/settings/config.ts";
import { limits } from "../src/tools/plan/figures.ts";
import { settingError } from "./setting-error.ts";

/** Shares of an account's concurrent invocations. */
export interface Shares {
  /** Limit of the account in this Region. */
  readonly accountConcurrency: number;
  /** Maximum of each tier's worker. */
  readonly workers: PerTier<number>;
  /** Maximum of redrive: enough for hundreds of messages per second. */
  readonly redrive: number;
  /** Maximum of retries of firings. Each may take the whole time-out of the function. */
  readonly firings: number;
  /** Maximum of notify: each takes up to ten notices, and a receiver that hangs holds one for ten seconds. */
  readonly notify: number;
  /** Part of `redrive`, `firings` and `notify` that must fit into the account beside the workers. */
  readonly background: number;
  /** To leave for the API's functions. A request needs one invocation at a time, for some milliseconds. */
  readonly api: number;
  /**
   * Requests that may wait for the end of a task at once. Each takes an invocation for up to 20 s, in addition to
   * `api`.
   */
  readonly waits: number;
}

const standard: Shares = {
  accountConcurrency: limits.accountConcurrency.value,
  workers: defaultConcurrency,
  redrive: 10,
  firings: 5,
  notify: 40,
  background: 55,
  api: 100,
  waits: 100,
};

/**
 * For an account with 10 concurrent invocations, which leaves none to reserve. AWS's minimum for an event source is 2,
 * so four busy tiers take 8, and the API always has 2. Redrive, firings and notices are rare and short, and do not fit
 * beside all of these. No request waits, because two would take all that the API has.
 */
const small: Shares = {
  accountConcurrency: 10,
  workers: { critical: 2, high: 2, normal: 2, low: 2 },
  redrive: 2,
  firings: 2,
  notify: 2,
  background: 0,
  api: 2,
  waits: 0,
};

/** Profiles of accounts, by name. */
export const profiles = { standard, small } as const;

export type ProfileName = keyof typeof profiles;

/** @throws TypeError for an unknown profile */
export function sharesOf(profile: ProfileName): Shares {
  if (Object.hasOwn(profiles, profile)) return profiles[profile];
  throw settingError(`profile must be one of ${Object.keys(profiles).join(", ")}; got ${JSON.stringify(profile)}`);
}
