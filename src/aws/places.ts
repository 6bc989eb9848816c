import { PlaceBook } from "../core/extras/limits/place-book.ts";
import { isOfLimit } from "../core/model/wait-queue.ts";
import type { CountedTokens } from "../core/ports/flow.ts";
import type { Clock } from "../core/ports/tasks.ts";
import type { DynamoTable } from "./dynamo-table.ts";
import { WaitQueueEntries } from "./line-entries.ts";
import { placedIn } from "./permits.ts";
import { keys } from "./table.ts";

/** The places in lines, as this process knows them. */
export function placeBook(table: DynamoTable, clock: Clock): PlaceBook {
  const entries = new WaitQueueEntries(table);
  const stateOf = (line: string) => table.get(keys.lineState(line), "eventually");
  const isSharded = async (line: string): Promise<boolean> =>
    isOfLimit(line) && (await stateOf(line))?.sharded === true;
  const holderOf = async (line: string) => placedIn(await stateOf(line))[0];
  const startsOf = async (line: string) => (await stateOf(line))?.starts as CountedTokens | undefined;
  return new PlaceBook(clock, { orders: (...query) => entries.orders(...query), isSharded, holderOf, startsOf });
}
