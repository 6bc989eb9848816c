import { describe, expect, test } from "vitest";
import { until } from "../support/http-client.ts";
import { operator, uniqueTags } from "./callers.ts";

const count = 200;
const concurrency = 20;

describe("load", () => {
  test(`${count} tasks submitted ${concurrency} at a time all complete, each once in the list`, async () => {
    const { tags, query } = uniqueTags();
    const ids = new Map<string, number>();
    let next = 0;
    const submitNext = async () => {
      while (next < count) {
        const value = next++;
        ids.set((await operator.submit("probe.echo", { value }, { tags })).task_id, value);
      }
    };
    await Promise.all(Array.from({ length: concurrency }, submitNext));
    expect(ids.size).toBe(count);

    const tasks = await until(
      `${count} completed tasks`,
      async () => {
        const found = await operator.list(`${query}&status=completed&limit=100`);
        return found.length >= count ? found : undefined;
      },
      150_000,
    );
    expect(tasks.map(({ task_id }) => task_id).toSorted()).toEqual([...ids.keys()].toSorted());
    const listed = (await operator.list(`${query}&limit=100`)).map(({ task_id }) => task_id);
    expect(listed.toSorted()).toEqual([...ids.keys()].toSorted());
    const [sample = ""] = ids.keys();
    expect((await operator.task(sample)).result).toEqual({ value: ids.get(sample) });
  });
});
