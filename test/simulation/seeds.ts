import { Pairs } from "./features.ts";
import { simulate } from "./simulate.ts";
import type { GivenTheme } from "./weather.ts";

/** Pairs of features in the worlds so far. */
export const pairs = new Pairs();

/** The violations of a seed, each with the command that shows its story. */
export async function faultsOf(seed: number, theme?: GivenTheme): Promise<string[]> {
  const { violations, features } = await simulate(seed, { theme });
  pairs.add(features);
  const of = theme === undefined ? "" : ` --theme ${theme}`;
  return violations.map(({ text }) => `${text} (npm run test:simulate -- --seed ${seed}${of})`);
}

export const seeds = (first: number, count: number): number[] =>
  Array.from({ length: count }, (_, index) => first + index);
