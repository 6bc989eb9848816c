import fc from "fast-check";

/*
 * A run of the same code tries the same values, so that a failure is the code's and can be seen again. The nightly run
 * tries others.
 */
const isFresh = process.env.OFFLOAD_FRESH === "1";
const firstSeed = 20_270_101;
if (!isFresh) fc.configureGlobal({ seed: firstSeed });

/** The parameter of one of several checks of the same property: each tries values of its own. */
export const seedOf = (check: number): { seed?: number } => (isFresh ? {} : { seed: firstSeed + check });

export * from "fast-check";
export default fc;
