import type { TaskRecord } from "../../model/record.ts";
import { keptUntil } from "../../pipeline/send/parts.ts";
import type { Extra } from "../../ports/extra.ts";
import type { DispatchPorts } from "../../ports/steps.ts";

/** Keeps the part with the newest input, where a later submit or an operator has given one. */
export async function keepInput({ records }: DispatchPorts, record: TaskRecord, purgeAt: number): Promise<void> {
  const { input_part: part } = record;
  const until = keptUntil(purgeAt);
  if (part !== undefined && until > keptUntil(record.purge_at)) await records.keepPart(record, `input#${part}`, until);
}

/** The newest input of a task, which its next attempt reads. */
export const input: Extra = { name: "input", field: "input_part", keep: keepInput };
