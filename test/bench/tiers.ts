import { setTimeout as sleep } from "node:timers/promises";
import { type Local, quantile, startLocal, submitMany } from "./local.ts";
import type { Benchmark } from "./measure.ts";

/** Tasks of the flood. Each waits for a second, as tasks do that wait for somebody else. */
const flood = 10_000;
const floodInput = { ms: 1_000 };

/** Tasks of tier `critical` that are measured, and how far apart they come. */
const measured = 200;
const apartMs = 100;

/** What a machine that is shared may add to a wait, in seconds. */
const graceSeconds = 0.1;

/**
 * How long tasks of tier `critical` wait on a local server: alone, and beside a flood of tier `low`. Alone is measured before
 * the flood and after it, on a server without one, as a shared machine changes its pace from minute to minute.
 */
export const tierLatency: Benchmark = {
  name: "tiers",
  async run({ note }) {
    const { before, flooded } = await withServer(async (local) => {
      note("alone");
      const before = await waits(local, measured / 2);
      note(`submitting ${flood} tasks of tier low`);
      await submitMany(local, new Array(flood).fill(floodInput), { priority: "low" });
      note("beside the flood");
      return { before, flooded: await waits(local, measured) };
    });
    note("alone again");
    const after = await withServer((local) => waits(local, measured / 2));
    const alone = [...before, ...after];
    const row = (name: string, seconds: readonly number[]) => [
      name,
      ...[0.5, 0.9, 0.99].map((share) => (quantile(seconds, share) * 1000).toFixed(0)),
    ];
    return {
      name: "tiers",
      title: `Wait of ${measured} tasks of tier critical on a local server, in milliseconds`,
      columns: ["", "p50", "p90", "p99"],
      rows: [row("alone", alone), row(`beside ${flood} tasks of tier low`, flooded)],
      goals: [
        {
          what: "critical beside a flood: p99 wait in seconds, against 1.5 times its wait alone and 0.1 s",
          value: quantile(flooded, 0.99),
          atMost: 1.5 * quantile(alone, 0.99) + graceSeconds,
        },
      ],
      data: { before, after, flooded },
    };
  },
};

/** A local server that has done its first tasks. */
async function withServer<T>(use: (local: Local) => Promise<T>): Promise<T> {
  const local = await startLocal();
  try {
    await submitMany(local, new Array(20).fill({ ms: 0 }), { priority: "critical" });
    return await use(local);
  } finally {
    await local.stop();
  }
}

async function waits(local: Local, count: number): Promise<number[]> {
  const ids: Promise<string>[] = [];
  for (let sent = 0; sent < count; sent++) {
    ids.push(local.submit("probe.sleep", { ms: 0 }, { priority: "critical" }));
    await sleep(apartMs);
  }
  const starts = await local.starts(await Promise.all(ids));
  return starts.map(({ cameAt, startedAt }) => startedAt - cameAt);
}
