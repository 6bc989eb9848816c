import { followers } from "../core/extras/list.ts";
import type { EndPorts } from "../core/ports/extra.ts";
import type { StepStore } from "../core/ports/steps.ts";
import type { DynamoTable } from "./dynamo-table.ts";
import { DynamoFamilies } from "./families.ts";
import { lazyPort } from "./lazy-port.ts";

/** The entries of tasks, for a function that rarely keeps them. */
const lazySteps = (table: DynamoTable): Pick<StepStore, "load" | "keep"> =>
  lazyPort(async () => new (await import("./step-store.ts")).DynamoStepStore(table));

/**
 * The ports of a function in which tasks change or end, beside those of `dispatchPorts`.
 * @param steps Default: loaded with the first task whose entries are kept.
 */
export const endingPorts = (
  table: DynamoTable,
  steps: Pick<StepStore, "load" | "keep"> = lazySteps(table),
): Pick<EndPorts, "families" | "extras"> => ({ families: new DynamoFamilies(table), extras: followers(steps) });
