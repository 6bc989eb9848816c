import { keptUntil } from "../../pipeline/send/parts.ts";
import type { Extra } from "../../ports/extra.ts";

/** The list of a task that collects inputs: the pages are beside its record. */
export const collect: Extra = {
  name: "collect",
  field: "collects",
  keep: ({ lists }, record, purgeAt) => lists.keep(record, keptUntil(purgeAt)),
};
