import type { CountedTokens, NotedLimit, WaitQueueState } from "../core/ports/flow.ts";
import type { Item } from "./dynamo-table.ts";

/** The start of the attributes of tasks' permits. */
const prefix = "place_";

/** The attribute of a task's permit. */
export const permitAttribute = (task: string): string => `${prefix}${task}`;

/** The tasks that have permits in the state of a line. */
export const placedIn = (item: Item = {}): string[] =>
  Object.keys(item)
    .filter((name) => name.startsWith(prefix))
    .map((name) => name.slice(prefix.length));

/** The state of a line as its item tells it. */
export function stateOf(item: Item = {}): WaitQueueState {
  const { next_slot_ms: nextTokenMs, check_id: id, check_at_ms: atMs, listed_ms: listedMs, sharded } = item;
  const { successor, successor_until_ms: untilMs, key_limit: keyLimit } = item;
  const listed = listedMs === undefined ? {} : { listedMs: Number(listedMs) };
  return {
    permits: new Map(placedIn(item).map((task) => [task, Number(item[permitAttribute(task)])])),
    ...(nextTokenMs === undefined ? {} : { nextTokenMs: Number(nextTokenMs) }),
    ...(item.starts === undefined ? {} : { starts: item.starts as CountedTokens }),
    ...(id === undefined ? {} : { check: { id: String(id), atMs: Number(atMs), ...listed } }),
    ...(sharded === true && { sharded }),
    ...((keyLimit as NotedLimit | undefined) && { keyLimit: keyLimit as NotedLimit }),
    ...((successor as string | undefined) && { successor: { id: String(successor), untilMs: Number(untilMs) } }),
  };
}
