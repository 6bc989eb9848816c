import { type Tier, tiers } from "../src/core/model/words.ts";
import type { PerTier } from "../src/settings/config.ts";

/** Creates a value for each tier. */
export const perTier = <T>(make: (tier: Tier) => T): PerTier<T> =>
  Object.fromEntries(tiers.map((tier) => [tier, make(tier)])) as PerTier<T>;

/** Capitalizes a name for construct ids and outputs: `critical` becomes `Critical`. */
export const title = (name: string): string => `${name.charAt(0).toUpperCase()}${name.slice(1)}`;
