import { submitChild } from "../../src/core/extras/children/child.ts";
import { Problem } from "../../src/core/model/problem.ts";
import { tiers } from "../../src/core/model/words.ts";
import type { DefinedTask, TaskType } from "../../src/core/task/task.ts";
import type { Signal } from "../../src/testkit/kit.ts";
import { testKit } from "../../src/testkit/kit.ts";
import { passTime } from "../../src/testkit/pass-time.ts";
import { ask, served } from "./served.ts";

/*
 * Two worlds in which a handler runs: the test kit, and the API's routes with workers behind them. Both take what a client sends, and show what
 * a client sees.
 */

/** What a client sends. */
export interface Sent {
  type: string;
  input: unknown;
  files?: Readonly<Record<string, Blob>>;
  /** Signals, which are sent before the first attempt. */
  signals?: readonly Signal[];
  maxAttempts?: number;
  delaySeconds?: number;
}

/** What a client sees of a task at its end. */
export interface Seen {
  status: string;
  /** JSON, or a file with its text, media type and name. */
  result: unknown;
  outcome: string | null;
  error: string | null;
  errorType: string | null;
  errorKind: string | null;
  attempts: { outcome: string; errorKind: string | null }[];
  /** Seconds from the submit to the end. */
  seconds: number;
}

/** The code of the problem with which a request was refused. */
export interface Refused {
  refused: string;
}

export interface HandlerWorld {
  /** The world's time, in epoch milliseconds. */
  now(): number;
  run(sent: Sent): Promise<Seen | Refused>;
}

const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

/** The test kit. Its patience is for handlers that do real work: whatever waits in the kit's time must not need it. */
export function kitWorld(types: readonly TaskType[]): HandlerWorld {
  const kit = testKit(types, { patienceMs: 3_600_000 });
  const run = async ({ type, input, ...options }: Sent): Promise<Seen> => {
    const defined = types.find(({ name }) => name === type) as DefinedTask<unknown, unknown>;
    const { result, outcome, error, errorType, errorKind, attempts, ...seen } = await kit.run(defined, input, options);
    const file = result as { bytes: Uint8Array; contentType: string; fileName: string } | null | undefined;
    const isFile = typeof file === "object" && file !== null && file.bytes instanceof Uint8Array;
    return {
      status: seen.status,
      result: isFile ? { text: textOf(file.bytes), contentType: file.contentType, fileName: file.fileName } : result,
      outcome: outcome ?? null,
      error: error ?? null,
      errorType: errorType ?? null,
      errorKind: errorKind ?? null,
      attempts: attempts.map((one) => ({ outcome: one.outcome, errorKind: one.errorKind ?? null })),
      seconds: seen.seconds,
    };
  };
  return {
    now: () => kit.now(),
    run: (sent) =>
      run(sent).catch((error: unknown) => {
        if (error instanceof Problem) return { refused: error.code };
        throw error;
      }),
  };
}

/** The API's routes in front of workers, all in memory. */
export function httpWorld(types: readonly TaskType[]): HandlerWorld {
  const app = served(types);
  Object.assign(app.ports, { submitChild: submitChild(app.ports) });
  const isFile = (headers: Headers) => headers.has("content-disposition");
  const resultOf = async (path: string): Promise<unknown> => {
    const answer = await ask(app.status, `${path}/result`);
    if (answer.status === 404) return undefined;
    const location = answer.headers.get("location");
    if (location !== null) throw new Error(`the result is at ${location}`);
    if (!isFile(answer.headers)) return JSON.parse(answer.text);
    const name = /filename\*=UTF-8''([^;]*)/.exec(answer.headers.get("content-disposition") ?? "")?.[1];
    return {
      text: answer.text,
      contentType: answer.headers.get("content-type"),
      fileName: decodeURIComponent(name ?? ""),
    };
  };
  return {
    now: () => app.clock.now(),
    async run({ signals = [], ...sent }) {
      const answer = await send(app, sent);
      if (answer.status !== 202) return { refused: String(answer.json.code) };
      const path = `/tasks/${answer.json.task_id}`;
      for (const { name, body } of signals) {
        const json = body === undefined ? {} : { json: body };
        const sent = await ask(app.control, `${path}/signals/${encodeURIComponent(name)}`, { method: "POST", ...json });
        if (sent.status !== 202) return { refused: String(sent.json.code) };
      }
      await drained(app);
      const { json } = await ask(app.status, path);
      const { attempts } = (await ask(app.status, `${path}/attempts`)).json as {
        attempts: { outcome: string; error_kind: string | null }[];
      };
      return {
        status: String(json.status),
        result: json.status === "completed" ? await resultOf(path) : undefined,
        outcome: json.outcome as string | null,
        error: json.error as string | null,
        errorType: json.error_type as string | null,
        errorKind: json.error_kind as string | null,
        attempts: attempts.map((one) => ({ outcome: one.outcome, errorKind: one.error_kind })),
        seconds: (Date.parse(String(json.finished_at)) - Date.parse(String(json.created_at))) / 1000,
      };
    },
  };
}

/** Works until nothing is left to do. Time passes while a worker waits for a place, a start or the end of an attempt. */
async function drained(app: ReturnType<typeof served>): Promise<void> {
  let next = app.nextEvent();
  for (let rounds = 0; next !== undefined; rounds++) {
    if (rounds > 500) throw new Error("the workers never came to rest");
    await app.clock.advance(Math.max(0, next - app.clock.now()));
    await app.fire();
    for (const tier of tiers) {
      let isOver = false;
      const working = app.work(tier).finally(() => {
        isOver = true;
      });
      await passTime(app.clock, 0, { isOver: () => isOver, isHurried: () => true });
      await working;
    }
    next = app.nextEvent();
  }
}

/** Sends a submit, as a form where it has files. */
async function send(
  app: ReturnType<typeof served>,
  { type, input, files, maxAttempts, delaySeconds }: Omit<Sent, "signals">,
) {
  const json = { type, input, max_attempts: maxAttempts, delay_seconds: delaySeconds };
  if (files === undefined) return ask(app.submit, "/tasks", { json });
  const form = new FormData();
  form.append("task", JSON.stringify(json));
  for (const [name, file] of Object.entries(files)) form.append(name, file);
  const request = new Request("http://offload.test/tasks", { method: "POST", body: form });
  const raw = new Uint8Array(await request.arrayBuffer());
  return ask(app.submit, "/tasks", { raw, headers: { "content-type": request.headers.get("content-type") ?? "" } });
}
