import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { tellFollowers } from "./followers.ts";
import { movedMs, moveTo, resetTime } from "./moved-time.ts";

/** Path at which a process that a user started asks for the server's time. */
export const followPath = "/_local/clock/follow";

/** Wait before the next question when no server answers, in milliseconds. */
const retryMs = 1_000;

/** Time from one look at whether attempts run to the next, in milliseconds. */
const lookMs = 100;

/**
 * Keeps this process's clock, and those of its own processes, at the time of a local server.
 * @param works True while attempts run: the server's clock waits for them.
 * @param signal Ends it.
 */
export async function followServer(url: string, works: () => boolean, signal: AbortSignal): Promise<void> {
  const id = randomUUID();
  while (!signal.aborted) {
    const aheadMs = await ask(new URL(followPath, url), id, works, signal);
    if (aheadMs === undefined) await sleep(retryMs, undefined, { signal }).catch(() => {});
    else if (aheadMs !== movedMs()) await goTo(aheadMs);
  }
}

/** Undefined: no server answers, or the question is obsolete. */
async function ask(url: URL, id: string, works: () => boolean, signal: AbortSignal): Promise<number | undefined> {
  const now = works();
  url.search = String(new URLSearchParams({ id, ahead_ms: String(movedMs()), works: String(now) }));
  const changed = new AbortController();
  const looking = setInterval(() => works() === now || changed.abort(), lookMs);
  try {
    const answer = await fetch(url, { signal: AbortSignal.any([signal, changed.signal]) });
    return answer.ok ? ((await answer.json()) as { ahead_ms: number }).ahead_ms : undefined;
  } catch {
    return changed.signal.aborted ? movedMs() : undefined;
  } finally {
    clearInterval(looking);
  }
}

async function goTo(aheadMs: number): Promise<void> {
  await tellFollowers(aheadMs);
  if (aheadMs === 0) resetTime();
  moveTo(aheadMs);
}
