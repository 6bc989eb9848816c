import type { TaskRecord } from "../../src/core/model/record.ts";
import type { Invocation } from "./invocation.ts";
import { lostType } from "./plans.ts";

/** Features of tasks, and events, that worlds combine. */
export const features = [
  ...([
    "children",
    "submits of handlers",
    "steps",
    "tries",
    "sleeps",
    "signals",
    "checkpoints",
    "one-offs",
    "lines",
  ] as const),
  ...(["pauses", "unique keys", "batches", "callbacks", "attempts", "retries", "cancels", "expiry"] as const),
  ...(["other releases", "late processes", "deaths"] as const),
] as const;

export type Feature = (typeof features)[number];

/** The features that the records of a world show. */
export class SeenFeatures {
  readonly #seen = new Set<Feature>();

  /** A record was written. */
  note(record: TaskRecord, from: Invocation): void {
    if (record.family_leaf !== undefined) this.#seen.add("children");
    else if (record.parent_id !== undefined) this.#seen.add("submits of handlers");
    if (record.line !== undefined) this.#seen.add("lines");
    if (record.unique_key !== undefined) this.#seen.add("unique keys");
    if (from.inputs !== undefined) this.#seen.add("batches");
    if (record.callback !== undefined) this.#seen.add("callbacks");
    if (record.attempts > 1) this.#seen.add("attempts");
    if (record.round > 1) this.#seen.add("retries");
    if (record.status === "cancelled") this.#seen.add("cancels");
    if (record.status === "expired") this.#seen.add("expiry");
    if (record.type === lostType && record.history.length > 0) this.#seen.add("other releases");
    if (from.kind === "worker" && from.process.stood) this.#seen.add("late processes");
  }

  /** @param others Features that no record shows. */
  with(others: { readonly [feature in Feature]?: boolean }): Feature[] {
    return features.filter((feature) => others[feature] ?? this.#seen.has(feature));
  }
}

/** Numbers of worlds that combine two features. */
export class Pairs {
  readonly #counts = new Map<string, number>();

  /** @param seen Features of a world, in the order of `features`. */
  add(seen: readonly Feature[]): void {
    for (const [index, one] of seen.entries()) {
      for (const other of seen.slice(index + 1)) this.#counts.set(`${one} + ${other}`, this.#of(one, other) + 1);
    }
  }

  #of(one: Feature, other: Feature): number {
    return this.#counts.get(`${one} + ${other}`) ?? 0;
  }

  /** Pairs that no world combines. */
  get empty(): string[] {
    return features.flatMap((one, index) =>
      features.slice(index + 1).flatMap((other) => (this.#of(one, other) === 0 ? [`${one} + ${other}`] : [])),
    );
  }

  /** A row for each feature. */
  table(): string {
    const rows = features.map((other, index) => {
      const counts = features.slice(0, index).map((one) => String(this.#of(one, other)).padStart(5));
      return `${other.padStart(20)} ${counts.join("")}${String(index + 1).padStart(5)}`;
    });
    return rows.join("\n");
  }
}
