import { inShort } from "../../../util/foreign-value.ts";
import { PermanentError } from "../../model/errors.ts";
import { awaitedKey, countsIn, type FamilyNode } from "../../model/family-node.ts";
import { spawnedId } from "../../model/idempotency.ts";
import type { TaskRecord } from "../../model/record.ts";
import type { SuspendedFor } from "../../model/suspension.ts";
import { type FamilyReadPorts, leafOf } from "../../pipeline/end/child-results.ts";
import { textOf } from "../../pipeline/send/read-whole.ts";
import type { StepEntry } from "../../ports/steps.ts";
import { asOwnWork } from "../../task/ambient.ts";
import type { NamedSpawn } from "../../task/handler-submit.ts";
import { keptIn, parsedValue } from "../../task/json-value.ts";
import { type Call, inWords, tryName } from "../../task/step-calls.ts";
import type { OpenWait } from "../steps/rest.ts";
import { ChildFailed, type StepTools } from "../steps/step-tools.ts";
import type { At } from "./known-pages.ts";
import type { Spawner } from "./spawner.ts";

/** Most ids of children in the record of a task that waits for them. */
const maxChildrenShown = 10;

/** Most bytes of an awaited result. */
const maxBytes = 262_144;

/** Most characters of a child's error in the entry of its end. */
const longestError = 500;

/** A task that waits for nothing but its children looks at them after this time, whatever has happened to the table. */
const lookMs = 86_400_000;

/** The text of a child's result, or the reason why the handler cannot have it. */
type ResultText = { text: string | undefined } | { fault: string };

/** The children of one attempt whose ends its handler awaits. It is loaded with the first one. */
export class Runs {
  readonly #steps: StepTools;
  readonly #ports: FamilyReadPorts;
  readonly #spawner: Spawner;
  /** The counted ends of each page, read once in the attempt: later ends start the next one. */
  readonly #leaves = new Map<number, Promise<FamilyNode | undefined>>();

  constructor(steps: StepTools, ports: FamilyReadPorts, spawner: Spawner) {
    this.#steps = steps;
    this.#ports = ports;
    this.#spawner = spawner;
  }

  /**
   * Creates a child, and returns its result when it has ended. Its end is stored, once for each round in which it
   * fails: a child that is replayed by itself later changes nothing of what the handler did.
   * @throws ChildFailed; PermanentError for a call without a key in an attempt that starts with a state: it does not
   * know which runs it goes on behind
   */
  async run(call: Call, child: NamedSpawn): Promise<unknown> {
    const { record, ports, rest } = this.#steps;
    if (child.key === undefined && record.checkpointed === true) {
      throw new PermanentError("task.run: a handler that uses task.checkpoint gives each run a key of its own");
    }
    const taskId = spawnedId(record, awaitedKey(call.name));
    const ends = await this.#endsOf(call);
    const last = ends.at(-1);
    if (last !== undefined && (last.error === undefined || last.round === record.round))
      return outcome(last, call, taskId);
    const at = await this.#spawner.create(child, awaitedKey(call.name), () => this.#turn());
    for (;;) {
      const ended = await this.#ended(at, taskId);
      if (ended !== undefined) {
        const entry = await this.#entryOf(call, ends.length + 1, ended);
        return outcome(await this.#steps.add(entry), call, taskId);
      }
      await rest.wait({ untilMs: ports.clock.now() + lookMs, awaited: { child: taskId, waitOf } });
    }
  }

  /** Children that are asked for in the same turn are created together. */
  #turn(): Promise<void> {
    return new Promise((resolve) => asOwnWork(() => this.#steps.ports.clock.after(0, resolve)));
  }

  /** The stored ends of a child over all rounds, in their order. */
  async #endsOf({ name }: Call): Promise<StepEntry[]> {
    const entries = await this.#steps.stored();
    const ends: StepEntry[] = [];
    for (;;) {
      const next = entries.get(`run:${tryName(name, ends.length + 1)}`);
      if (next === undefined) return ends;
      ends.push(next);
    }
  }

  /**
   * The record of a child that has ended in this round. A child that was replayed by itself since goes on. Null: it is
   * no longer kept.
   */
  async #ended({ page, place }: At, taskId: string): Promise<TaskRecord | null | undefined> {
    const { record } = this.#steps;
    let leaf = this.#leaves.get(page.number);
    leaf ??= this.#ports.families.read(record, leafOf(record, page.number));
    this.#leaves.set(page.number, leaf);
    const text = (await leaf)?.ended[place];
    if (text === undefined || !countsIn(text, record.round)) return undefined;
    const child = await this.#ports.records.get({ tenant_id: record.tenant_id, task_id: taskId }, "consistently");
    if (child === undefined) return null;
    return child.status === "pending" || child.status === "processing" ? undefined : child;
  }

  async #entryOf({ name, order, sequential }: Call, number: number, child: TaskRecord | null): Promise<StepEntry> {
    const entry: StepEntry = {
      kind: "run",
      name: tryName(name, number),
      // The order of the calls is compared by the first end.
      ...(number === 1 && { order, ...(sequential && { sequential }) }),
    };
    if (child === null) return { ...entry, fault: "the child has ended, and is no longer kept" };
    const { status, error = "", error_kind } = child;
    if (status === "completed") {
      const found = await resultOf(this.#ports, child);
      if ("fault" in found) return { ...entry, fault: found.fault };
      return { ...entry, ...this.#steps.kept(parsedValue(found.text), `run ${JSON.stringify(name)}`) };
    }
    const failed = status === "failed" || status === "cancelled" ? status : "expired";
    return {
      ...entry,
      ...{ round: this.#steps.record.round, status: failed, error: error.slice(0, longestError).toWellFormed() },
      ...(error_kind !== undefined && failed === "failed" && { error_kind }),
    };
  }
}

/** Several open waits as the record has them, some of them for children. */
function waitOf(waits: readonly OpenWait[]): SuspendedFor {
  const children = waits.flatMap(({ awaited }) => awaited?.child ?? []).slice(0, maxChildrenShown);
  const timed = waits.filter(({ awaited }) => awaited === undefined);
  if (timed.length === 0) return { kind: "child", children };
  const until = new Date(Math.min(...timed.map(({ untilMs }) => untilMs))).toISOString();
  const signals = [...new Set(timed.flatMap(({ signals }) => signals ?? []))];
  // A signal has to find its name in the record, whatever ends first.
  return signals.length > 0 ? { kind: "signal", signals, until, children } : { kind: "child", children, until };
}

/** @throws ChildFailed */
function outcome(stored: StepEntry, call: Call, taskId: string): unknown {
  const { status, error, error_kind: errorKind } = stored;
  const what = inWords(call);
  if (status !== undefined) {
    const why = error === undefined || error === "" ? "" : `: ${error}`;
    throw new ChildFailed(`the child of ${what} is ${status}${why}`, { taskId, status, errorKind });
  }
  const { value, fault } = keptIn(stored);
  // Each call is made once, and the process has the attempts of other tenants, too.
  delete stored.value;
  if (fault === undefined) return value;
  throw new PermanentError(`${what}: ${fault}`);
}

/** The JSON text of a completed child's result. */
async function resultOf({ records, blobs }: FamilyReadPorts, child: TaskRecord): Promise<ResultText> {
  const { result, result_ref: reference, acknowledged_at } = child;
  if (acknowledged_at !== undefined) return { fault: "the result was acknowledged, and deleted" };
  if (reference === undefined) return { text: JSON.stringify(result ?? null) };
  const { bytes, content_type, file_name, blob, part } = reference;
  if (file_name !== undefined || content_type !== "application/json") {
    return {
      fault: `the result is a file (${inShort(content_type)}): spawn the child, and read its file in aggregate`,
    };
  }
  if (bytes > maxBytes) {
    return {
      fault: `the result has ${bytes} bytes, and the most are ${maxBytes}: keep large values in a bucket, and return their keys`,
    };
  }
  if (blob === undefined) {
    const text = await records.loadPart(child, `result#${part}`);
    return typeof text === "string" ? { text } : { fault: "the result is no longer kept" };
  }
  const content = await blobs.read(blob);
  return content === undefined ? { fault: "the result is no longer kept" } : { text: await textOf(content.bytes) };
}
