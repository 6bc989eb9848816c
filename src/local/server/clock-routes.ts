import * as z from "zod";
import type { createRouter } from "../../api/http/api.ts";
import { jsonBody } from "../../api/http/body.ts";
import { fieldProblem } from "../../core/model/field-problem.ts";
import { parseInput } from "../../core/model/invalid.ts";
import type { Problem } from "../../core/model/problem.ts";
import { timeSchema } from "../../core/pipeline/submit/submit-body.ts";
import { answerDistant } from "../time/distant-followers.ts";
import { followPath } from "../time/follow-server.ts";
import { movedMs, serverNow } from "../time/moved-time.ts";
import type { Moving } from "../time/mover.ts";
import type { ServerClock } from "./clock.ts";
import { type Counts, inWords } from "./played.ts";

export const clockPath = "/_local/clock";

/** The longest that a clock may be ahead of the machine's, in seconds: a hundred years. */
const maxSeconds = 100 * 365.25 * 86_400;

const bodySchema = z
  .strictObject({
    advance_seconds: z.number().min(0).max(maxSeconds).optional(),
    at: timeSchema.optional(),
    reset: z.literal(true).optional(),
  })
  .refine((body) => Object.keys(body).length === 1, "expected one of advance_seconds, at and reset");

const askSchema = z
  .strictObject({
    id: z.string().min(1).max(64),
    ahead_ms: z.coerce.number().int().min(0),
    works: z.enum(["true", "false"]),
  })
  .transform(({ id, ahead_ms: aheadMs, works }) => ({ id, aheadMs, works: works === "true" }));

/** The server's clock, as its route answers it. */
export interface ClockView {
  now: string;
  ahead_seconds: number;
  /** The move that goes on. Null: the clock stands. */
  moving: { since: string; to: string; waits_for: string | null } | null;
}

/** The answer of a move, when it is done. */
export interface MovedView extends ClockView {
  /** False: it was stopped on its way. */
  arrived: boolean;
  did: Counts;
  /** The counts in one line. */
  summary: string;
}

/** Adds the routes of the server's clock: what it says, its moves, and the end of a move. */
export function addClockRoutes(api: ReturnType<typeof createRouter>, clock: ServerClock): void {
  api.on("GET", clockPath, (call) => {
    call.header("cache-control", "no-store");
    return call.json(viewOf(clock.moving));
  });
  api.on("GET", followPath, async (call) => {
    const ask = parseInput(askSchema, call.req.query);
    call.header("cache-control", "no-store");
    return call.json({ ahead_ms: await answerDistant(ask, movedMs()) });
  });
  api.on("POST", clockPath, async (call) => {
    const { advance_seconds: seconds, at, reset } = parseInput(bodySchema, await jsonBody(call));
    if (reset) {
      await clock.reset();
      return call.json(viewOf(undefined));
    }
    const moved = await clock.move(() => (at === undefined ? { byMs: byMs(seconds ?? 0) } : { toMs: whenToCome(at) }));
    const summary = inWords(moved.seconds, moved.did);
    return call.json({ ...viewOf(undefined), arrived: moved.arrived, did: moved.did, summary } satisfies MovedView);
  });
  api.on("DELETE", clockPath, (call) => {
    clock.stop();
    return call.json(viewOf(undefined));
  });
}

const viewOf = (moving: Moving | undefined): ClockView => ({
  now: iso(serverNow()),
  ahead_seconds: movedMs() / 1000,
  moving:
    moving === undefined
      ? null
      : {
          since: iso(moving.fromMs),
          to: iso(serverNow() + Math.max(0, moving.leftMs())),
          waits_for: moving.waitsFor ?? null,
        },
});

const iso = (ms: number): string => new Date(ms).toISOString();

/** @throws Problem `invalid_input` */
function byMs(seconds: number): number {
  const ms = Math.round(seconds * 1000);
  if (movedMs() + ms > maxSeconds * 1000) throw tooFar("advance_seconds");
  return ms;
}

/** @throws Problem `invalid_input` for a time that has passed, or is too far */
function whenToCome(ms: number): number {
  if (ms < serverNow()) throw fieldProblem("at", `it is ${iso(serverNow())}, and the clock only goes forward`);
  if (ms - serverNow() + movedMs() > maxSeconds * 1000) throw tooFar("at");
  return ms;
}

const tooFar = (field: string): Problem =>
  fieldProblem(field, "the clock can be ahead of the machine's by a hundred years at most");
