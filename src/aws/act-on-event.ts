import { type ActOnEventPorts, actOnEvent } from "../core/extras/unique/act-on-event.ts";
import type { DynamoTable } from "./dynamo-table.ts";
import { DynamoStepStore } from "./step-store.ts";

type Ports = Omit<ActOnEventPorts, "steps"> & { table: DynamoTable };
type Given = Parameters<typeof actOnEvent> extends [unknown, ...infer Rest] ? Rest : never;

/** Cancels or signals the task that an event names. */
export const actOnEventWith = ({ table, ...ports }: Ports, ...given: Given): ReturnType<typeof actOnEvent> =>
  actOnEvent({ ...ports, steps: new DynamoStepStore(table) }, ...given);
