import { PlaceBook } from "../core/flow/place-book.ts";
import type { Clock } from "../core/ports/tasks.ts";
import type { DynamoTable } from "./dynamo-table.ts";
import { LineEntries } from "./line-entries.ts";

/** The places in lines, as this process knows them. */
export function placeBook(table: DynamoTable, clock: Clock): PlaceBook {
  const lines = new LineEntries(table);
  return new PlaceBook(clock, (...query) => lines.orders(...query));
}
