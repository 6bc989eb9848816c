import type { List } from "../../client/index.ts";
import { take } from "./connection.ts";
import { type Columns, describe, type Screen, tableOf } from "./text-table.ts";

/** The words of a command. */
export interface Answer {
  /** Printed with `--json`. Absent: nothing is printed then. */
  json?: unknown;
  text: string | ((screen: Screen) => string);
  /** For people only. */
  hint?: string | undefined;
  /** Beside the text and beside the JSON. */
  note?: string | undefined;
  /** The reason of a command that fails all the same. */
  failure?: string | undefined;
}

/** An object of the API, by its fields. */
export const thing = (found: object): Answer => ({
  json: found,
  text: (screen) => describe(found, screen),
});

/** Things as a table. `json` names them. */
export const things = <Item>(
  json: { readonly [name: string]: readonly Item[] },
  none: string,
  columns: Columns<Item>,
): Answer => ({ json, text: listText(Object.values(json)[0] ?? [], none, columns) });

export const listText =
  <Item>(items: readonly Item[], none: string, columns: Columns<Item>) =>
  (screen: Screen): string =>
    items.length === 0 ? none : tableOf(items, columns, screen);

/** A list as it is shown. */
interface Shown<Item> {
  /** Its name in the JSON. */
  json: string;
  none: string;
  columns: Columns<Item>;
  /** The JSON says whether it is complete. */
  withEnd?: true;
  /** A way to see the rest. Default: `raise --limit`. */
  cure?: string;
}

/** The first things of a list as a table. */
export async function firstOf<Item>(
  list: List<Item>,
  limit: number,
  { json, none, columns, withEnd, cure = "raise --limit" }: Shown<Item>,
): Promise<Answer & { items: Item[] }> {
  const { items, more } = await take(list, limit);
  return {
    json: { [json]: items, ...(withEnd && { complete: !more }) },
    text: listText(items, none, columns),
    note: more ? `There are more than ${items.length}: ${cure}.` : undefined,
    items,
  };
}
