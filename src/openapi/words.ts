import * as z from "zod";
import { statuses } from "../core/model/status.ts";
import { tiers } from "../core/model/tier.ts";

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
