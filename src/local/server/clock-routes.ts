import * as z from "zod";
import { parseInput } from "../../core/model/invalid.ts";
import type { createApi } from "../../http/api.ts";
import { jsonBody } from "../../http/body.ts";
import { movedMs, passTime } from "../time/moved-time.ts";

const bodySchema = z.strictObject({
  seconds: z
    .number()
    .min(0)
    .max(86_400 * 400),
});

/** Adds `/_local/clock` to a server whose clock tests move: it lets time pass. */
export function addClockRoute(api: ReturnType<typeof createApi>): void {
  if (movedMs() === undefined) return;
  api.post("/_local/clock", async (call) => {
    const { seconds } = parseInput(bodySchema, await jsonBody(call));
    return call.json({ now: new Date(await passTime(seconds * 1000)).toISOString() });
  });
}
