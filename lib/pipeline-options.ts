import { Duration } from "aws-cdk-lib";
import type { AppSchedule } from "../src/core/schedules/app-schedule.ts";
import type { AppTrigger } from "../src/core/schedules/trigger.ts";
import type { Catalog } from "../src/core/task/catalog.ts";
import type { PerTier } from "../src/settings/config.ts";
import type { Accepted } from "../src/tools/doctor/accepted.ts";
import { type Capacity, type TierOptions, timeoutOf } from "./capacity.ts";
import { perTier } from "./per-tier.ts";
import type { ProfileName } from "./profile.ts";

/** The options that are given. */
export const present = <T extends object>(options: T) =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as {
    [Name in keyof T]?: Exclude<T[Name], undefined>;
  };

interface Rules {
  readonly schedules: readonly AppSchedule[];
  readonly triggers: readonly AppTrigger[];
}

/** The task type of each schedule or trigger, by its name. */
const typesOf = (all: readonly OfType[]): Record<string, string> =>
  Object.fromEntries(all.map(({ name, task, act }) => [name, (task ?? act)?.type ?? ""]));

interface OfType {
  readonly name: string;
  readonly task?: { readonly type: string } | undefined;
  readonly act?: { readonly type: string } | undefined;
}

/** Metadata of the template, for `npx offload doctor`. */
export const acceptedBy = (
  catalog: Catalog,
  { schedules, triggers }: Rules,
  { accountConcurrency }: Capacity,
  profile: ProfileName = "standard",
): Accepted => ({
  types: catalog.map(({ name }) => name),
  schedules: typesOf(schedules),
  triggers: typesOf(triggers),
  accountConcurrency,
  profile,
});

/** Times of each tier. */
export const timesOf = (tiers: Partial<PerTier<TierOptions>>) =>
  perTier((tier) => ({
    timeout: timeoutOf(tiers[tier]),
    batchWindow: tiers[tier]?.batchWindow ?? Duration.seconds(0),
  }));
