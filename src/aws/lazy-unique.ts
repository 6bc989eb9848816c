import type { SubmitUnique } from "../core/submit/submit-ports.ts";

/** Submits with a unique key. Their code loads with the first of them: most submits have none. */
export const lazySubmitUnique: SubmitUnique = async (...given) =>
  (await import("../core/unique/submit-unique.ts")).submitUnique(...given);
