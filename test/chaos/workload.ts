import { tiers } from "../../src/core/model/words.ts";

/** The callers of the run. Each lists its tasks by itself: the submitter has an index of its own. */
export const callers = [
  { token: "dev-acme", tenant: "acme", seesAll: true },
  { token: "dev-acme-sub", tenant: "acme", seesAll: false },
  { token: "dev-globex", tenant: "globex", seesAll: true },
] as const;

export type Caller = (typeof callers)[number];

/** A task of the chaos run, and how it must end. */
export interface Planned {
  key: string;
  caller: Caller;
  tier: (typeof tiers)[number];
  body: Record<string, unknown>;
  ends: "completed" | "failed";
}

/** Plans mixed work: quick, slow, failing for a while, failing permanently, crashing, delayed, and once-only effects. */
export function plan(round: number, count: number, random: () => number): Planned[] {
  return Array.from({ length: count }, (_, index) => {
    const key = `chaos-${round}-${index}`;
    const [type, input, ends] = pick(index, key, random);
    const delay = random() < 0.1 ? { delay_seconds: 1 + Math.floor(random() * 5) } : {};
    const tier = among(tiers, random);
    const body = { type, input, priority: tier, max_attempts: 20, tags: { chaos: key }, ...delay };
    return { key, caller: among(callers, random), tier, ends, body };
  });
}

/** A random element. */
export function among<T>(all: readonly T[], random: () => number): T {
  const one = all[Math.floor(random() * all.length)];
  if (one === undefined) throw new Error("there is nothing to choose from");
  return one;
}

function pick(index: number, key: string, random: () => number): [string, Record<string, unknown>, Planned["ends"]] {
  const kind = index % 10;
  if (kind < 3) return ["probe.echo", { value: index }, "completed"];
  if (kind < 5) return ["probe.once", { key, fail_first: random() < 0.5 }, "completed"];
  if (kind < 7) return ["probe.context", { pause_ms: Math.floor(random() * 1500) }, "completed"];
  if (kind === 7) return ["probe.fail", { kind: "transient", times: 1 + Math.floor(random() * 2) }, "completed"];
  if (kind === 8) return ["probe.fail", { kind: "permanent" }, "failed"];
  return ["probe.crash", { how: random() < 0.7 ? "exit" : "block", times: index % 3 === 0 ? 1 : 0 }, "completed"];
}
