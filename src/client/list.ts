import type { CallOptions } from "./limits.ts";
import type { Query, Transport } from "./transport.ts";

/** One page of a list. */
export interface Page<Item> {
  items: Item[];
  /** Where the next page starts. Null: this is the last one. Only null ends a list: a page may be short. */
  nextCursor: string | null;
}

/**
 * A list, read page by page while it is iterated.
 * @example for await (const task of client.list({ status: "failed" })) console.log(task.task_id);
 */
export class List<Item> implements AsyncIterable<Item> {
  /** Reads one page. `limit` is 1 to 100; default: 50. */
  readonly page: (from?: { limit?: number; cursor?: string | undefined }) => Promise<Page<Item>>;

  /** @param member Name of the items in an answer. */
  constructor(transport: Transport, path: string, member: string, query: Query, options?: CallOptions) {
    this.page = async ({ limit, cursor } = {}) => {
      const answer = await transport.get<Record<string, unknown>>(path, options, { ...query, limit, cursor });
      return { items: answer[member] as Item[], nextCursor: answer.next_cursor as string | null };
    };
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    let cursor: string | undefined;
    do {
      const page = await this.page({ limit: 100, cursor });
      yield* page.items;
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
  }
}
