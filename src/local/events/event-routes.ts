import * as z from "zod";
import type { createRouter } from "../../api/http/api.ts";
import { jsonBody } from "../../api/http/body.ts";
import { parseInput } from "../../core/model/invalid.ts";
import { timeSchema } from "../../core/pipeline/submit/submit-body.ts";
import type { EventLog } from "./event-log.ts";

const path = "/_local/events";

const eventSchema = z.strictObject({
  source: z.string().min(1).max(256),
  "detail-type": z.string().min(1).max(128),
  detail: z.record(z.string(), z.unknown()),
  id: z
    .string()
    .regex(/^[\x21-\x7e]{1,128}$/, "expected 1 to 128 printable ASCII characters")
    .optional(),
  time: timeSchema.transform((time) => new Date(time).toISOString()).optional(),
  resources: z.array(z.string().max(2048)).max(100).optional(),
});

/** Adds `/_local/events` to the routes that only the local server has: it lists the newest events, and puts one in. */
export function addEventRoutes(api: ReturnType<typeof createRouter>, log: EventLog): void {
  api.on("GET", path, (call) => {
    call.header("cache-control", "no-store");
    return call.json({ events: log.newest() });
  });
  api.on("POST", path, async (call) => {
    const event = parseInput(eventSchema, await jsonBody(call));
    return call.json({ id: log.put(event) }, 202);
  });
}
