import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

/** Answer of a request, which must have succeeded. */
export type Call = <T>(method: string, path: string, body?: object, key?: string) => Promise<T>;

/** Submits tasks of one type, and notes them under the name of their group. */
export type Submit = (
  group: string,
  type: string,
  inputs: readonly object[],
  more?: object,
  key?: string,
) => Promise<void>;

/** Counts webhooks by their tasks. */
export class Receiver {
  readonly #seen = new Map<string, number>();
  readonly #server: Server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { data } = JSON.parse(Buffer.concat(chunks).toString()) as { data: { task_id: string } };
    this.#seen.set(data.task_id, (this.#seen.get(data.task_id) ?? 0) + 1);
    response.writeHead(204).end();
  });

  async start(): Promise<string> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/hook`;
  }

  count(taskId: string): number {
    return this.#seen.get(taskId) ?? 0;
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

interface Upload {
  upload_id: string;
  url: string;
  headers?: Record<string, string>;
}

/** Uploads a file of so many bytes. */
export async function upload(call: Call, bytes: number): Promise<string> {
  const body = { content_type: "text/plain", size_bytes: bytes, file_name: "a.txt" };
  const { upload_id, url, headers } = await call<Upload>("POST", "/uploads", body);
  const given = { "content-type": "text/plain", "if-none-match": "*", ...headers };
  const answer = await fetch(url, { method: "PUT", headers: given, body: "f".repeat(bytes) });
  assert.ok(answer.ok, `the upload was refused: ${answer.status} ${await answer.text()}`);
  return upload_id;
}

const numbers = (count: number) => Array.from({ length: count }, (_, n) => ({ n }));

interface Kinds {
  call: Call;
  submit: Submit;
  round: string;
  /** Tasks of each kind, times this. */
  size: number;
  /** Address of the receiver of webhooks. */
  hook: string;
  /** Seconds of the longest waits. */
  longSeconds: number;
}

/**
 * Submits tasks of the kinds that lie somewhere while a release changes: waits of each kind, tries of steps, parts, files,
 * keys of one's own, webhooks.
 */
export async function submitKinds({ call, submit, round, size, hook, longSeconds }: Kinds) {
  await submit(`${round} once`, "two.once", numbers(4 * size));
  await submit(`${round} wait that ends`, "two.wait", [{ seconds: 12 }, { seconds: 30 }]);
  await submit(`${round} wait for a signal`, "two.wait", [{ seconds: 3_600 }, { seconds: 3_600 }]);
  await submit(`${round} pages`, "two.pages", [
    { pages: 10, ms: 700 },
    { pages: 20, ms: 500 },
  ]);
  await submit(`${round} parent with failures`, "two.lenient", [{ children: 9 * size, failEvery: 3 }]);
  await submit(`${round} never: parent whose children fail`, "two.lenient", [{ children: 4, failEvery: 1 }]);
  await submit(`${round} tries`, "two.tries", [{ number: 1 }, { number: 2 }]);
  const keyed = numbers(12 * size).map(({ n }) => ({ key: `k${n % 4}`, ms: 1_000, pad: n % 3 ? "" : "p".repeat(600) }));
  await submit(`${round} several keys`, "two.keyed", keyed);
  await submit(`${round} long attempts`, "two.keyed", [
    { key: "long", ms: 12_000, pad: "" },
    { key: "long", ms: 25_000, pad: "" },
  ]);
  for (const priority of ["critical", "high", "low"])
    await submit(`${round} ${priority}`, "two.echo", numbers(3 * size), { priority, delay_seconds: 10 });
  await submit(`${round} breaker`, "two.breaker", numbers(6 * size));
  for (const n of [1, 2, 3]) {
    await submit(`${round} replaced`, "two.echo", [{ n }], {
      ...{ unique: { key: `${round} r`, mode: "replace" }, delay_seconds: 20 },
    });
    await submit(`${round} existing`, "two.echo", [{ n }], { unique: { key: `${round} e` }, delay_seconds: 20 });
  }
  await submit(`${round} webhook`, "two.echo", numbers(4 * size), { callback: { url: hook }, delay_seconds: 5 });
  await submit(`${round} tags`, "two.echo", numbers(2), { tags: { round: "a", kind: "tags" }, delay_seconds: 15 });
  const pad = "q".repeat(300_000);
  await submit(`${round} large input`, "two.big", [{ bytes: 10, pad }], { delay_seconds: 20 });
  await submit(`${round} large result`, "two.big", [{ bytes: 900_000 }, { bytes: 100_000 }]);
  for (const delay_seconds of [0, 20])
    await submit(`${round} file`, "two.file", [{}], { files: { doc: await upload(call, 400_000) }, delay_seconds });
  // Its tenant is paused until the end.
  await submit(`${round} never: expired`, "two.echo", [{ n: 1 }], { expires_in_seconds: 5 }, "dev-globex");
  await submit(`${round} long delay`, "two.echo", numbers(2), { delay_seconds: longSeconds });
  await submit(`${round} long delay of minutes`, "two.echo", numbers(2), { delay_seconds: 1_200, priority: "low" });
  await submit(`${round} long sleep`, "two.steps", [{ sleeps: [longSeconds] }]);
  await submit(
    `${round} wide`,
    "two.wide",
    numbers(80 * size).map(({ n }) => ({ key: "w", ms: 2_000, pad: n % 2 ? "" : "p".repeat(600) })),
  );
  await submit(`${round} replaced in a pause`, "two.paused", [{ n: 1, pad: "" }], {
    unique: { key: `${round} p`, mode: "replace" },
  });
  await submit(`${round} replaced in a pause`, "two.paused", [{ n: 2, pad: "" }], {
    unique: { key: `${round} p`, mode: "replace" },
  });
  await submit(`${round} never: cancelled`, "two.echo", [{ n: 1 }], { delay_seconds: 30 });
}
