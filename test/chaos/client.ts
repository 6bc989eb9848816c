import { setTimeout as sleep } from "node:timers/promises";

const requestLimitMs = 10_000;

/** Requests to a server that may be dead right now. */
export class ChaosClient {
  readonly #url: string;
  readonly #giveUpAt: number;

  /** @param giveUpAt Epoch milliseconds after which a request without an answer fails the run. */
  constructor(url: string, giveUpAt: number) {
    this.#url = url;
    this.#giveUpAt = giveUpAt;
  }

  /** Repeats a request with the same content until the server has answered it. */
  async insist(token: string, path: string, init: RequestInit = {}): Promise<Record<string, unknown>> {
    for (;;) {
      if (Date.now() > this.#giveUpAt) throw new Error(`${path}: no answer before the time was up`);
      try {
        const response = await this.#send(token, path, init);
        if (response.status < 500 && response.status !== 429) return (await response.json()) as Record<string, unknown>;
      } catch {
        // The server was killed under the request, which is what an Idempotency-Key is for.
      }
      await sleep(200);
    }
  }

  /** Reads a list to its end, page by page. @throws Error for an answer other than 200 */
  async readAll<T>(token: string, path: string, member: string): Promise<T[]> {
    const items: T[] = [];
    let cursor: unknown = null;
    do {
      const from = cursor === null ? "" : `&cursor=${encodeURIComponent(String(cursor))}`;
      const response = await this.#send(token, path + from, {});
      const text = await response.text();
      if (response.status !== 200) throw new Error(`${path}${from}: ${response.status} ${text}`);
      const page = JSON.parse(text) as Record<string, unknown>;
      items.push(...(page[member] as T[]));
      cursor = page.next_cursor ?? null;
    } while (cursor !== null);
    return items;
  }

  /** @throws Error for an answer other than 200 */
  async read<T>(token: string, path: string): Promise<T> {
    const response = await this.#send(token, path, {});
    if (response.status !== 200) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as T;
  }

  #send(token: string, path: string, init: RequestInit): Promise<Response> {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json", ...init.headers };
    return fetch(this.#url + path, { ...init, headers, signal: AbortSignal.timeout(requestLimitMs) });
  }
}
