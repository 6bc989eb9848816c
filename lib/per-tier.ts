import type { PerTier } from "../src/config.ts";
import { type Tier, tiers } from "../src/core/tier.ts";

/** Makes one thing for each tier. */
export const perTier = <T>(make: (tier: Tier) => T): PerTier<T> =>
  Object.fromEntries(tiers.map((tier) => [tier, make(tier)])) as PerTier<T>;

/** A tier's or a function's name as a part of construct ids and outputs: `Critical`. */
export const title = (name: string): string => `${name.charAt(0).toUpperCase()}${name.slice(1)}`;
