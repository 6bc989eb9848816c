import type { AnyTasks } from "./definitions.ts";
import type { ProblemError } from "./errors.ts";
import type { ManyParts } from "./late-parts.ts";
import type { BatchOptions, SubmitManyOptions, TaskEntry } from "./submit-options.ts";
import type { SubmittedTask } from "./task-ref.ts";
import type { Transport } from "./transport.ts";

/** Outcome of one input: an accepted task, or why the API refused it. Exactly one of the two fields is set. */
export type SubmitOutcome<Result = unknown> =
  | { readonly task: SubmittedTask<Result>; readonly error?: undefined }
  | { readonly task?: undefined; readonly error: ProblemError };

/** Inputs, read as they are needed. */
export type Inputs<Input> = Iterable<Input> | AsyncIterable<Input>;

/** Entries of one request: the API's limit of their number, and the bytes of their JSON within its limit of 1 MiB. */
const mostEntries = 500;
const mostBytes = 900 * 1024;

/** An entry of the API's answer. */
type Answered = SubmittedTask & {
  problem?: ConstructorParameters<typeof ProblemError>[0] & { retry_after_seconds?: number };
};

/** Submits inputs chunk by chunk. An error of the inputs is thrown after the outcomes of the inputs before it. */
export async function* submitMany<Result>(
  parts: ManyParts,
  transport: Transport,
  type: string,
  inputs: Inputs<unknown>,
  { signal, timeoutMs, idempotencyKey = parts[5](), firstIndex = 0, correlationId, ...rest }: SubmitManyOptions = {},
): AsyncGenerator<SubmitOutcome<Result>, void, undefined> {
  const [, limited, , , wired] = parts;
  const limit = limited({ signal, timeoutMs });
  const fields = { type, ...wired(rest) };
  let index = firstIndex;
  const entryOf = (input: unknown) => ({ ...fields, input, idempotency_key: `${idempotencyKey}.${index++}` });
  try {
    for await (const chunk of chunksOf(readUntil(inputs, limit.signal), entryOf)) {
      yield* (await submitChunk(
        { parts, transport, correlationId, signal: limit.signal },
        chunk,
      )) as SubmitOutcome<Result>[];
    }
  } finally {
    limit.end();
  }
}

/** Submits tasks of any types. Returns the outcome of each, in their order. */
export async function submitBatch(
  parts: ManyParts,
  transport: Transport,
  tasks: readonly TaskEntry<AnyTasks>[],
  { signal, timeoutMs, correlationId }: BatchOptions = {},
): Promise<SubmitOutcome[]> {
  const [, limited, , , wired, newIdempotencyKey] = parts;
  const limit = limited({ signal, timeoutMs });
  const entryOf = ({ idempotencyKey = newIdempotencyKey(), input, ...rest }: TaskEntry<AnyTasks>) => ({
    ...wired(rest),
    input,
    idempotency_key: idempotencyKey,
  });
  const sender = { parts, transport, correlationId, signal: limit.signal };
  const outcomes: SubmitOutcome[] = [];
  try {
    for await (const chunk of chunksOf(tasks, entryOf)) outcomes.push(...(await submitChunk(sender, chunk)));
    return outcomes;
  } finally {
    limit.end();
  }
}

async function* chunksOf<Input>(
  inputs: Inputs<Input>,
  entryOf: (input: Input) => object,
): AsyncGenerator<object[], void, undefined> {
  let chunk: object[] = [];
  let chunkBytes = 0;
  let failure: { error: unknown } | undefined;
  const taken = () => {
    const full = chunk;
    chunk = [];
    chunkBytes = 0;
    return full;
  };
  try {
    for await (const input of inputs) {
      const entry = entryOf(input);
      const bytes = bytesOf(JSON.stringify(entry));
      if (chunk.length > 0 && chunkBytes + bytes > mostBytes) yield taken();
      chunk.push(entry);
      chunkBytes += bytes;
      // Not with the next input, which may come much later.
      if (chunk.length === mostEntries) yield taken();
    }
  } catch (error) {
    failure = { error };
  }
  if (chunk.length > 0) yield chunk;
  if (failure !== undefined) throw failure.error;
}

/** Bytes of a text; the most that it can have where React Native does not encode it. */
const bytesOf = (text: string): number =>
  typeof TextEncoder === "undefined" ? text.length * 3 : new TextEncoder().encode(text).byteLength;

/** Reads inputs until the signal fires, also while the next one is awaited. */
async function* readUntil(inputs: Inputs<unknown>, signal: AbortSignal): AsyncGenerator<unknown, void, undefined> {
  if (!(Symbol.asyncIterator in inputs)) return yield* inputs;
  const iterator = inputs[Symbol.asyncIterator]();
  let done: boolean | undefined = false;
  try {
    for (;;) {
      const next = await orAborted(iterator.next(), signal);
      done = next.done;
      if (done) return;
      yield next.value;
    }
  } finally {
    // Not awaited: it would wait for the next input.
    if (!done) void iterator.return?.();
  }
}

function orAborted<T>(step: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    signal.addEventListener("abort", stop);
    if (signal.aborted) stop();
    step.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}

interface Sender {
  parts: ManyParts;
  transport: Transport;
  correlationId: string | undefined;
  signal: AbortSignal;
}

/** Sends a chunk, and again those of its entries that were refused for a reason that can pass. */
async function submitChunk(sender: Sender, chunk: readonly object[]): Promise<SubmitOutcome[]> {
  const outcomes: SubmitOutcome[] = [];
  let open = [...chunk.keys()];
  let triesInVain = 0;
  for (let tries = 1; ; tries++) {
    const entries = open.map((place) => chunk[place] as object);
    const answers = await send(sender, entries, tries);
    for (const [at, place] of open.entries()) outcomes[place] = answers[at] as SubmitOutcome;
    const refused = open.filter((place) => canPass(outcomes[place]?.error));
    triesInVain = refused.length < open.length ? 0 : triesInVain + 1;
    if (refused.length === 0 || triesInVain >= sender.transport.maxTries) return outcomes;
    open = refused;
    const [, , pause, waitMs] = sender.parts;
    const named = refused.map((place) => outcomes[place]?.error?.retryAfterSeconds ?? 0);
    await pause(Math.max(...named) * 1000 + waitMs(tries), sender.signal);
  }
}

/**
 * Longest wait that an entry's problem may ask for, in seconds, as for a request. With a longer one, the entry stays
 * refused.
 */
const longestRetryAfterSeconds = 60;

const canPass = (error: ProblemError | undefined): boolean =>
  (error?.status === 429 || error?.status === 503) && (error.retryAfterSeconds ?? 0) <= longestRetryAfterSeconds;

async function send(
  { parts: [Problem], transport, correlationId, signal }: Sender,
  tasks: readonly object[],
  tries: number,
) {
  try {
    const headers = { "x-correlation-id": correlationId };
    const answer = await transport.post<{ tasks: Answered[] }>("/tasks/batch", { tasks }, { signal }, headers);
    return answer.tasks.map(
      ({ problem, ...task }): SubmitOutcome =>
        problem === undefined ? { task } : { error: new Problem(problem, problem.retry_after_seconds, tries) },
    );
  } catch (error) {
    // Such as an input that is too large for any request.
    const isOfEntry = error instanceof Problem && [400, 413, 422].includes(error.status);
    if (tasks.length === 1 && isOfEntry) return [{ error }];
    throw error;
  }
}
