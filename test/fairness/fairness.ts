import { gina } from "../support/served.ts";
import type { Attack } from "./attacks.ts";
import { type Deployment, deploymentOf } from "./deployment.ts";

/** Submits of the other tenant in a second. */
const othersPerSecond = 5;

/** After the attack its tasks have this time to end, in seconds. */
const restSeconds = 15;

/** The median and the 99th percentile of a delay, in milliseconds. */
export interface Delay {
  p50: number;
  p99: number;
}

/** Delays of the tenant that is not attacked: from the start of a submit to the task's end, and from that to a webhook. */
export interface Seen {
  submitToEnd: Delay;
  webhook: Delay;
  /** The attacker's gain by its attack, in words, and the most that it may get. */
  gain?: { what: string; got: number; most: number } | undefined;
}

/** Runs an attack for some seconds. Undefined: there is none. A task without an end, or without a webhook, counts as endless. */
export async function seenUnder(attack: Attack | undefined, seconds: number): Promise<Seen> {
  const deployment = deploymentOf(attack ?? {});
  const started = new Map<string, number>();
  await deployment.connect();
  await attack?.prepare?.(deployment);
  for (let second = 0; second < seconds; second++) {
    attack?.second?.(deployment, second);
    await deployment.second((part) => {
      if (part % (100 / othersPerSecond) === 0) submitOther(deployment, started);
    });
  }
  for (let second = 0; second < restSeconds; second++) await deployment.second();
  const { records, webhookDelays } = deployment;
  const own = records.all().filter(({ tenant_id }) => tenant_id === "globex");
  const ends = own.map(({ task_id, finished_at }) => Date.parse(finished_at ?? "") - (started.get(task_id) ?? 0));
  const webhooks = webhookDelays.flatMap(({ tenant, ms }) => (tenant === "globex" ? ms : []));
  const expected = seconds * othersPerSecond;
  return {
    submitToEnd: delayOf(ends, expected),
    webhook: delayOf(webhooks, expected),
    gain: attack?.gain?.(deployment),
  };
}

function submitOther(deployment: Deployment, started: Map<string, number>): void {
  const json = { type: "short", input: null, callback: { url: "https://www.globex.example/hook" } };
  const startedMs = deployment.clock.now();
  void deployment.request("submit", "/tasks", { as: gina, json }).then((answer) => {
    if (answer.status === 202) started.set(String(answer.json.task_id), startedMs);
  });
}

/** @param expected Number of delays. Missing delays count as endless. */
function delayOf(delays: readonly number[], expected: number): Delay {
  const endless = Number.POSITIVE_INFINITY;
  const sorted = delays.map((ms) => (Number.isFinite(ms) ? ms : endless)).toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.ceil(share * expected) - 1] ?? endless;
  return { p50: at(0.5), p99: at(0.99) };
}

/** The longest delay under an attack that is accepted, as a multiple of the delay without one. */
export const mostRatio = 1.5;

/** The largest of the delays' ratios. */
export function ratioOf(seen: Seen, quiet: Seen): number {
  const ratios = (["submitToEnd", "webhook"] as const).flatMap((name) => [
    seen[name].p50 / quiet[name].p50,
    seen[name].p99 / quiet[name].p99,
  ]);
  return Math.max(...ratios);
}
