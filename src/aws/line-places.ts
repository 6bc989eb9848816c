import type { Item } from "./dynamo-table.ts";

/** The start of the attributes of tasks' places. */
const prefix = "place_";

/** The attribute of a task's place. */
export const placeOf = (task: string): string => `${prefix}${task}`;

/** The tasks that have places in the state of a line. */
export const placedIn = (item: Item = {}): string[] =>
  Object.keys(item)
    .filter((name) => name.startsWith(prefix))
    .map((name) => name.slice(prefix.length));
