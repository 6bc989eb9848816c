import { type Attempt, hasEnded, type TaskRecord } from "../../src/core/model/record.ts";
import { isBeside } from "../../src/core/pipeline/send/parts.ts";
import type { Part } from "../../src/core/ports/tasks.ts";
import type { Pipeline } from "./memory-pipeline.ts";

/** Parts of a task's history beside its record, and the part with its newest input. */
async function partsOf({ records }: Pick<Pipeline, "records">, record: TaskRecord): Promise<Part[]> {
  const { round, history, input_part: input } = record;
  const parts: Part[] = input === undefined ? [] : [`input#${input}`];
  const addStacks = (attempts: readonly Attempt[]) => {
    for (const attempt of attempts.filter(isBeside)) parts.push(`stack#${attempt.round}#${attempt.number}`);
  };
  for (let earlier = 1; earlier < round; earlier++) {
    parts.push(`round#${earlier}`);
    addStacks(((await records.loadPart(record, `round#${earlier}`)) as Attempt[] | undefined) ?? []);
  }
  addStacks(history);
  return parts;
}

/** The items beside a task's record that would be deleted before it, each with the days by which it is too early. */
export async function deletedBefore(
  pipeline: Pick<Pipeline, "records" | "uniqueKeys" | "steps" | "clock">,
  record: TaskRecord,
): Promise<string[]> {
  const { records, uniqueKeys, steps, clock } = pipeline;
  const kept: [string, number | undefined][] = [];
  const { unique_key } = record;
  // A dead letter may go on.
  if (unique_key !== undefined && (record.status === "failed" || !hasEnded(record, clock.now())))
    kept.push(["key", uniqueKeys.purgeAtOf({ ...record, unique_key })]);
  for (const part of await partsOf(pipeline, record)) kept.push([part, records.purgeAtOf(record, part)]);
  // A task that does not wait for a time needs none: its message is in its queue.
  const message = records.purgeAtOf(record, "envelope");
  if (message !== undefined) kept.push(["envelope", message]);
  for (const { kind, name, purge_at } of await steps.load(record)) kept.push([`${kind} ${name}`, purge_at]);
  return kept
    .filter(([, until = 0]) => until < record.purge_at)
    .map(
      ([name, until]) => `${name}: ${until === undefined ? "gone" : ((record.purge_at - until) / 86_400).toFixed(1)}`,
    );
}
