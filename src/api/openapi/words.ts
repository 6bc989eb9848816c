import * as z from "zod";
import { statuses, tiers } from "../../core/model/words.ts";
import { object } from "./json-schema.ts";

/* Types of fields that many answers have. */

export const id = z.uuid();
export const idOrNull = id.nullable();
export const time = z.iso.datetime();
export const timeOrNull = time.nullable();
export const text = z.string();
export const textOrNull = text.nullable();
export const flag = z.boolean();
/** From 0. */
export const count = z.int().min(0);
/** From 1. */
export const number = z.int().min(1);
export const status = z.enum(statuses);
export const tier = z.enum(tiers);

/** Names a page of a list in the document: its items under their name, and the cursor of the next page. */
export const pageOf = (
  id: string,
  items: string,
  item: z.ZodType,
  meaning: string,
  cursor = "`cursor` of the next page. Null: this is the last one.",
) => object(id, { [items]: z.array(item).describe(meaning), next_cursor: textOrNull.describe(cursor) });

/** The meaning of a cursor, where pages can be short. */
export const nextCursor = "Value of `cursor` for the next page. Only `null` ends the list.";
