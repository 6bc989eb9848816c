import { tiers } from "../../src/core/tier.ts";

/** A task of the chaos run, and what may become of it. */
export interface Planned {
  key: string;
  body: Record<string, unknown>;
  /** How it must end. */
  ends: "completed" | "failed";
}

/** Mixed work: quick, slow, failing for a while, failing for good, crashing, delayed, and once-only effects. */
export function plan(count: number, random: () => number): Planned[] {
  return Array.from({ length: count }, (_, index) => {
    const [type, input, ends] = pick(index, random);
    const delay = random() < 0.1 ? { delay_seconds: 1 + Math.floor(random() * 5) } : {};
    return {
      key: `chaos-${index}`,
      ends,
      body: {
        type,
        input,
        priority: tiers[Math.floor(random() * tiers.length)],
        max_attempts: 20,
        tags: { chaos: String(index) },
        ...delay,
      },
    };
  });
}

function pick(index: number, random: () => number): [string, Record<string, unknown>, Planned["ends"]] {
  const kind = index % 10;
  if (kind < 3) return ["probe.echo", { value: index }, "completed"];
  if (kind < 5) return ["probe.once", { key: `chaos-${index}`, fail_first: random() < 0.5 }, "completed"];
  if (kind < 7) return ["probe.context", { pause_ms: Math.floor(random() * 1500) }, "completed"];
  if (kind === 7) return ["probe.fail", { kind: "transient", times: 1 + Math.floor(random() * 2) }, "completed"];
  if (kind === 8) return ["probe.fail", { kind: "permanent" }, "failed"];
  return ["probe.crash", { how: random() < 0.7 ? "exit" : "block", times: index % 3 === 0 ? 1 : 0 }, "completed"];
}
