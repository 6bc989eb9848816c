import { followers } from "../core/extras/list.ts";
import type { EndPorts } from "../core/ports/extra.ts";
import type { Families } from "../core/ports/family.ts";
import type { StepStore } from "../core/ports/steps.ts";
import type { DynamoTable } from "./dynamo-table.ts";
import { lazyPort } from "./lazy-port.ts";

/** Families. Their code loads with the first task that has children, or a parent. */
export const lazyFamilies = (table: DynamoTable): Families =>
  lazyPort(async () => new (await import("./families.ts")).DynamoFamilies(table));

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
): Pick<EndPorts, "families" | "extras"> => ({ families: lazyFamilies(table), extras: followers(steps) });
