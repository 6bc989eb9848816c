import { pause } from "./batches.ts";
import { act, identities } from "./clients.ts";
import { purge } from "./disasters.ts";
import type { Step } from "./plans.ts";
import { drawMode, type Submit, submitOnce } from "./unique-clients.ts";
import type { World } from "./world.ts";

/** Types with short tasks: with retries at once or later, and without one after a crash. */
const types = ["quick", "quick", "soon", "fragile"] as const;

const daySeconds = 86_400;

/**
 * A small world: a handful of calls of one or two submits with idempotency keys, and of some without, share one or two
 * unique keys. They come together, or while the task that has the key runs and ends.
 */
export function meetAtKeys(world: World): void {
  const { dice, time, outages } = world;
  const isLong = dice.chance(0.02);
  const type = isLong ? "steps" : dice.pick(types);
  const submits = [drawSubmit(world, type, "key-1")];
  if (dice.chance(0.4)) submits.push(drawSubmit(world, type, dice.chance(0.8) ? "key-2" : "key-1"));
  for (let others = dice.int(0, 2); others > 0; others--) submits.push(drawSubmit(world, type, undefined));
  callAll(world, submits);
  // Then tasks expire.
  if (dice.chance(0.1)) time.after(dice.int(0, 60), () => outages.begin("workers", time.now + dice.spread(500, 6000)));
  if (dice.chance(0.15)) time.after(dice.spread(60_000, 150_000), () => purge(world));
  if (isLong) time.after(dice.int(22, 29) * daySeconds * 1000, () => purge(world));
}

/** Calls the submits some times in all, the first one most often. */
function callAll(world: World, submits: readonly Submit[]): void {
  const { dice, time } = world;
  const withinMs = dice.pick([10, 10, 40, 120, 2500]);
  for (let calls = dice.int(2, 4); calls > 0; calls--) {
    const one = dice.pick([submits[0] as Submit, ...submits]);
    const atMs = dice.chance(0.85) ? dice.int(0, withinMs) : dice.spread(100, 100_000);
    // The same submit from two places at once.
    for (let places = dice.chance(0.4) ? 2 : 1; places > 0; places--) {
      time.after(atMs + dice.int(0, 8), () => void callUntilAnswered(world, one));
    }
  }
}

function drawSubmit(world: World, type: string, idempotencyKey: string | undefined): Submit {
  const { dice } = world;
  const unique = { key: drawUniqueKey(world), ...drawMode(world) };
  const input = { attempts: drawAttempts(world, type), pad: `m${dice.int(1, 1_000_000_000)}` };
  const times = {
    ...(dice.chance(0.2) ? { delay_seconds: dice.int(1, 3) } : {}),
    ...(dice.chance(0.15) ? { expires_in_seconds: dice.int(1, 5) } : {}),
  };
  return {
    identity: dice.chance(0.9) ? identities[0] : dice.pick(identities),
    body: {
      ...{ type, input, unique },
      ...(unique.mode === "debounce" ? {} : times),
      ...(dice.chance(0.3) ? { retention_seconds: dice.int(60, 90) } : {}),
    },
    idempotencyKey,
    began: world.time.now,
    ids: new Map(),
    act: (key) => act(world, key),
  };
}

const drawUniqueKey = ({ dice }: World): string => (dice.chance(0.8) ? "unique-1" : "unique-2");

/** Attempts of a few milliseconds. Some fail, for good or once; some submit a task that joins the task with a key. */
function drawAttempts(world: World, type: string): Step[][] {
  const { dice } = world;
  if (type === "steps") return [[{ do: "nap", place: 0, seconds: dice.int(30, 50) * daySeconds }]];
  const draw = dice.next();
  if (draw < 0.4) return [[]];
  if (draw < 0.6) return [[{ do: "sleep", ms: dice.int(1, 60), deaf: dice.chance(0.5) }]];
  if (draw < 0.75) return [[{ do: "fail", kind: "permanent" }], []];
  if (draw < 0.82) return [[{ do: "fail", kind: "transient" }], []];
  if (draw < 0.9) return [[{ do: "exit" }], []];
  const child = { type, tier: undefined, attempts: [[]] };
  const key = dice.chance(0.5) ? "child" : undefined;
  const submit: Step = {
    ...{ do: "submit", place: 0, child, key },
    ...{ delaySeconds: undefined, uniqueKey: drawUniqueKey(world) },
  };
  return dice.chance(0.5) ? [[submit]] : [[submit, { do: "fail", kind: "transient" }], [submit]];
}

/** A call of a client, with some more while it has no answer. */
async function callUntilAnswered(world: World, one: Submit): Promise<void> {
  const { dice } = world;
  for (let tries = dice.int(1, 4); tries > 0; tries--) {
    if (await submitOnce(world, one)) return;
    await pause(world, dice.spread(5, 3000));
  }
}
