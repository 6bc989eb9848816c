import { leaseSeconds } from "../../model/lease.ts";

/**
 * The state of a place: an attempt has taken it; a task that had it before has kept it, which another message of the
 * task may need; or its task was let go and is on the way to a worker.
 */
export type PlaceState = "taken" | "kept" | "onTheWay";

/** A place outlasts the lease of its attempt by this many seconds: the claim follows, and its answer may be late. */
const placeMarginSeconds = 15;

/**
 * A task that was let go has its place for this time, in seconds, until its worker renews it. Then the place is free
 * again.
 */
const waySeconds = 60;

/*
 * The time at which a place ends tells its state, so that a condition on this one number compares both: a worker that
 * gives back what it took does not give back what another message of the task has kept since, also within a
 * millisecond. A field for the state would make each place a third larger, and an item of one write unit would have
 * fewer of them (`placesPerUnit`). This file alone writes and reads the code.
 */

/** Epoch milliseconds, an even number: the end of a place that an attempt takes now. */
export const takenUntilMs = (nowMs: number, { timeoutSeconds }: { timeoutSeconds: number }): number =>
  2 * Math.floor(nowMs / 2) + (leaseSeconds(timeoutSeconds) + placeMarginSeconds) * 1000;

/** Epoch milliseconds, an odd number: the end of a place that its task keeps now. */
export const keptUntilMs = (nowMs: number, type: { timeoutSeconds: number }): number => takenUntilMs(nowMs, type) + 1;

/**
 * Epoch milliseconds, an odd number: the end of a place that its task keeps now. Not before the end that an attempt or
 * another message, perhaps by another clock, has given it.
 */
export function keptAfterMs(seenMs: number, nowMs: number, type: { timeoutSeconds: number }): number {
  const own = keptUntilMs(nowMs, type);
  return placeStateOf(seenMs) === "onTheWay" ? own : Math.max(own, seenMs + 1 + (seenMs % 2));
}

/** Epoch milliseconds and a half: the end of the place of a task that is let go now. */
export const onTheWayUntilMs = (nowMs: number): number => Math.floor(nowMs) + waySeconds * 1000 + 0.5;

/** The state that the end of a place tells. */
export function placeStateOf(untilMs: number): PlaceState {
  if (!Number.isInteger(untilMs)) return "onTheWay";
  return untilMs % 2 === 0 ? "taken" : "kept";
}
