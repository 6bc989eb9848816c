import type { TaskRecord } from "../../model/record.ts";
import type { ListPage, ListPlace, Lists } from "../../ports/unique.ts";
import { keptUntil } from "./parts.ts";

/*
 * A list is a row of pages. A page takes inputs until it is full, and only then the next one begins: so each page's
 * place is fixed by the pages before it, and one conditional write adds an input and gives it its number. A page that
 * is full, or closed, never changes again.
 */

/** A page with so many bytes of inputs is full: the write of a small input costs about one write unit. */
export const fullPageBytes = 600;

/** A list with so many bytes of inputs takes no more: its array stays below the largest input. */
const fullListBytes = 512 * 1024;

/** The largest input of a list, in bytes of its JSON: a page is one item of the table. */
export const largestCollectedBytes = 256 * 1024;

/** A list: the record of its task. */
export type ListRecord = TaskRecord & { collects: number };

export const isList = (record: TaskRecord): record is ListRecord => record.collects !== undefined;

/** Epoch seconds until which the pages of a list are stored. */
export const listPurgeAt = ({ purge_at }: Pick<TaskRecord, "purge_at">): number => keptUntil(purge_at);

/** True for a page to which no call can add an input any more. */
export const isFinal = ({ closed, bytes, first, ids }: ListPage, { collects }: ListRecord): boolean =>
  closed || bytes >= fullPageBytes || first + ids.length > collects;

/** True for a list that no input can be added to any more. */
const isOver = ({ closed, first, ids }: ListPage, { collects }: ListRecord): boolean =>
  closed || first + ids.length > collects;

/** The place of the page after the last one, or of the last one while it is not full. */
function lastPlace(last: ListPage | undefined): ListPlace {
  if (last === undefined) return { number: 1, first: 1, bytesBefore: 0 };
  const { number, first, bytesBefore, ids, bytes } = last;
  if (bytes < fullPageBytes) return { number, first, bytesBefore };
  return { number: number + 1, first: first + ids.length, bytesBefore: bytesBefore + bytes };
}

/** The page that takes the next input. Undefined: the list takes no more. */
export function nextPlace(last: ListPage | undefined, list: ListRecord): ListPlace | undefined {
  if (last !== undefined && (isOver(last, list) || last.bytesBefore + last.bytes >= fullListBytes)) return undefined;
  return lastPlace(last);
}

/** True when a list has taken its last input. */
export const isFilled = (last: ListPage, list: ListRecord): boolean => nextPlace(last, list) === undefined;

/**
 * Closes a list: no input is added after it. Repeatable.
 * @throws PortUnavailable
 */
export async function closeList({ lists }: { lists: Lists }, list: ListRecord): Promise<void> {
  let last = await lists.last(list);
  // A page that fills up meanwhile is not closed: the end is in the page after it.
  while (last === undefined || !isOver(last, list)) {
    last = await lists.close(list, lastPlace(last), fullPageBytes, listPurgeAt(list));
  }
}

/** The inputs of a closed list, in the order in which they were accepted. @throws PortUnavailable */
export async function inputsOf({ lists }: { lists: Lists }, list: ListRecord): Promise<unknown[]> {
  const pages = await lists.all(list);
  return JSON.parse(`[${pages.flatMap(({ inputs }) => inputs).join(",")}]`) as unknown[];
}
