import type { Envelope } from "../../model/envelope.ts";
import { closeList, isList, type ListRecord } from "../../pipeline/send/collected-list.ts";
import { newestEnvelope } from "../../pipeline/send/kept-input.ts";
import { storedInput } from "../../pipeline/send/large-input.ts";
import type { Blobs } from "../../ports/blob.ts";
import type { Records } from "../../ports/tasks.ts";
import type { Lists } from "../../ports/unique.ts";
import { dataOf, parseInput } from "../../task/parsed-input.ts";
import type { TaskType } from "../../task/task.ts";

export interface InputPorts {
  blobs: Blobs;
  lists: Lists;
  records: Records;
}

/** The value that the schema of a type gets. */
interface Given {
  input: unknown;
  /** True: it is the array of a list. */
  collected?: boolean;
}

/**
 * The inputs that the keys of a task's limits are made of: one, or all of a list that has been closed. Of a list that
 * still gathers it is the first one, which never changes. None: the list is empty.
 * @throws InvalidInput; PermanentError when the input is no longer stored; PortUnavailable
 */
export async function inputsFor(ports: InputPorts, envelope: Envelope, type: TaskType): Promise<readonly unknown[]> {
  const given = type.collect === undefined ? await givenIn(ports, envelope) : await givenToList(ports, envelope);
  if (given === undefined) return [];
  const data = dataOf(await parseInput(type, given.input, envelope.input_version ?? 1, given.collected));
  return type.collect === undefined ? [data] : (data as unknown[]);
}

const givenIn = async (ports: InputPorts, envelope: Envelope): Promise<Given> => ({
  input: envelope.input_ref === undefined ? envelope.input : await storedInput(ports, envelope),
  collected: envelope.collected === true,
});

/** The message of a list has its inputs from the first failure on. Undefined: the list is empty. */
async function givenToList(ports: InputPorts, envelope: Envelope): Promise<Given | undefined> {
  if (envelope.collected) return givenIn(ports, envelope);
  const record = await ports.records.get(envelope, "consistently");
  if (record === undefined || !isList(record)) return givenIn(ports, envelope);
  if (record.input_part !== undefined) return givenIn(ports, await newestEnvelope(ports, record, envelope));
  const text = (await firstOf(ports, record)) ?? (await firstOfClosed(ports, record));
  return text === undefined ? undefined : { input: JSON.parse(text) };
}

const firstOf = async ({ lists }: InputPorts, list: ListRecord): Promise<string | undefined> =>
  (await lists.page(list, 1))?.inputs[0];

/** The submit that began the list has died: another input that came now would start without a key. */
async function firstOfClosed(ports: InputPorts, list: ListRecord): Promise<string | undefined> {
  await closeList(ports, list);
  return firstOf(ports, list);
}
