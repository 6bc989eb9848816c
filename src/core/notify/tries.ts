import { iso } from "../model/record.ts";
import type { WebhookAnswer } from "../ports/notify.ts";
import type { Clock, Random } from "../ports/tasks.ts";
import type { Delivery } from "../ports/webhooks.ts";

/** Waits before the second and the later tries, in seconds. Each is lengthened by up to a quarter. */
export const waitsSeconds = [5, 30, 120, 600, 1800, 7200, 21_600] as const;

/** Longest `Retry-After` that is heeded, in seconds. */
const longestRetryAfterSeconds = 86_400;

/** The state of a delivery after a try, and the time of the next try. */
export function decideNext(
  { tries, series_from }: Pick<Delivery, "tries" | "series_from">,
  answer: WebhookAnswer,
  { clock, random, timeScale }: { clock: Clock; random: Random; timeScale: number },
): Pick<Delivery, "state" | "next_try_at"> {
  if ("status" in answer && answer.status >= 200 && answer.status < 300) return { state: "delivered" };
  const waitSeconds = waitsSeconds[tries.length - series_from];
  const isFinal = "status" in answer ? answer.status === 410 : answer.refused === true;
  if (isFinal || waitSeconds === undefined) return { state: "failed" };
  const scaled = Math.max(1, Math.ceil(waitSeconds * timeScale * (1 + random() / 4)));
  const asked = ("status" in answer && answer.retryAfterSeconds) || 0;
  const seconds = Math.max(scaled, Math.min(asked, longestRetryAfterSeconds));
  return { state: "pending", next_try_at: iso(clock.now() + seconds * 1000) };
}
