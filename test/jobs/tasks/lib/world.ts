import { currentTask } from "offload";

/** A call of a job to its database or to another service. */
interface Call {
  path: string;
  body: Readonly<Record<string, unknown>>;
}

type Body = Call["body"];

/** Returns what a service answers. `count` is the number of its calls, from 1. */
type Answer = (body: Body, count: number) => unknown;

/** Stands for all databases and services of the jobs. With an idempotency key, an effect happens once. */
class World {
  #calls: Call[] = [];
  #answers: Readonly<Record<string, Answer>> = {};
  #refusals: Record<string, (readonly [number, string])[]> = {};
  #done = new Map<string, unknown>();

  /** Begins anew, with these answers. A path without one answers with an id. */
  begin(answers: Readonly<Record<string, Answer>> = {}): void {
    this.#calls = [];
    this.#answers = answers;
    this.#refusals = {};
    this.#done.clear();
  }

  /** The next calls of a path get these statuses, and have no effect. */
  refuse(path: string, statuses: readonly number[], text = "refused"): void {
    this.#refusals[path] = statuses.map((status) => [status, text] as const);
  }

  /** Returns the bodies of all calls of a path that had an effect. */
  of(path: string): readonly Body[] {
    return this.#calls.filter((call) => call.path === path).map(({ body }) => body);
  }

  call(path: string, body: Body, key: string | undefined): unknown {
    const [status, text] = this.#refusals[path]?.shift() ?? [];
    if (status !== undefined) throw new Response(text, { status });
    const name = `${path} ${key}`;
    if (key !== undefined && this.#done.has(name)) return this.#done.get(name);
    this.#calls.push({ path, body });
    const count = this.of(path).length;
    const answer = path in this.#answers ? this.#answers[path]?.(body, count) : { id: `${path} ${count}` };
    this.#done.set(name, answer);
    return answer;
  }
}

export const world = new World();

/** Calls the database, or another service, as `fetch` does with `if (!response.ok) throw response`. */
export async function call<T = { id: string }>(path: string, body: Body, key?: string): Promise<T> {
  currentTask()?.signal.throwIfAborted();
  return world.call(path, structuredClone(body), key) as T;
}

/** Calls a service that streams its answer, word by word. */
export async function* stream(path: string, body: Body): AsyncGenerator<string> {
  for (const words of (await call<string>(path, body)).split(/(?<= )/)) yield words;
}
