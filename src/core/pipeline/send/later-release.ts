import type { WrittenLater } from "../../model/errors.ts";
import type { Log, Metrics } from "../../ports/tasks.ts";

/** A message that waits for a later release comes again after this time, in seconds, or up to twice of it. */
const laterSeconds = 150;

/** The delay of a message that waits for a later release, in seconds. Many such messages do not come at once. */
export const laterReleaseSeconds = ({ random }: { random: () => number }): number =>
  Math.ceil(laterSeconds * (1 + random()));

interface SayPorts {
  log: Log;
  /** A process has one object of these: it tells which forms were said. */
  metrics: Metrics;
}

const saidBy = new WeakMap<Metrics, Set<string>>();

/** Says once in each process that a later release has written a form which this one cannot read. */
export function sayLater({ log, metrics }: SayPorts, { form }: Pick<WrittenLater, "form">): void {
  const said = saidBy.get(metrics) ?? new Set();
  saidBy.set(metrics, said);
  if (said.has(form)) return;
  said.add(form);
  log.warn("a later release has written what this one cannot read; it waits for that release", { form });
}
