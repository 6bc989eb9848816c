import type { SubmitUnique } from "../core/pipeline/submit/submit-ports.ts";

/** Submits with a unique key. Their code loads with the first of them: most submits have none. */
export const lazySubmitUnique: SubmitUnique = async (...given) =>
  (await import("../core/extras/unique/submit-unique.ts")).submitUnique(...given);
