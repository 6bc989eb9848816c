import { isAccepted, passing, pause } from "./batches.ts";
import { act, identities } from "./clients.ts";
import { purge } from "./disasters.ts";
import type { Step } from "./plans.ts";
import { portsFor } from "./ports.ts";
import { serve } from "./serve.ts";
import type { World } from "./world.ts";

/** One input that a client submits, some times. */
interface Input {
  type: string;
  marker: string;
  key: string;
  attempts: Step[][];
  expires: number | undefined;
  idempotencyKey: string | undefined;
  began: number | undefined;
}

/** The type of a world, by the time within which most inputs come: without a limit, with places or a rate of each key. */
const typeOf = (withinMs: number): string =>
  withinMs === 60 ? "gatherplaced" : withinMs === 20_000 ? "gatherrated" : "gathering";

/** A small world: clients submit inputs that gather in the lists of one or two keys, together or one after the other. */
export function gatherInLists(world: World): void {
  const { dice, time, outages } = world;
  const keys = dice.chance(0.8) ? (["list-1"] as const) : (["list-1", "list-2"] as const);
  // Long ones have a page each.
  const longest = dice.pick([0, 0, 250, 700]);
  const withinMs = dice.pick([10, 60, 2_000, 20_000]);
  for (let count = dice.int(3, 14); count > 0; count--) {
    const one: Input = {
      type: typeOf(withinMs),
      marker: `m${count}`.padEnd(longest, "."),
      key: dice.pick(keys),
      attempts: drawAttempts(world),
      expires: dice.chance(0.1) ? dice.int(1, 5) : undefined,
      idempotencyKey: dice.chance(0.6) ? `collect-${count}` : undefined,
      began: undefined,
    };
    call(world, one, dice.chance(0.8) ? dice.int(0, withinMs) : dice.spread(100, 30_000));
  }
  if (dice.chance(0.1)) time.after(dice.int(0, 60), () => outages.begin("workers", time.now + dice.spread(500, 9000)));
  if (dice.chance(0.1)) time.after(dice.spread(60_000, 150_000), () => purge(world));
}

/** Submits an input at a time; one with an idempotency key also from two places, or once more long after its answer. */
function call(world: World, one: Input, atMs: number): void {
  const { dice, time } = world;
  const isKeyed = one.idempotencyKey !== undefined;
  for (let places = isKeyed && dice.chance(0.3) ? 2 : 1; places > 0; places--) {
    time.after(atMs + dice.int(0, 8), () => void submitUntilAnswered(world, one));
  }
  if (!isKeyed || dice.chance(0.8)) return;
  time.after(atMs + dice.spread(1_000, 40_000), () => void submitOnce(world, one, one.marker));
}

/** The attempts of a list are those of its first input. */
function drawAttempts({ dice }: World): Step[][] {
  const draw = dice.next();
  if (draw < 0.5) return [[]];
  if (draw < 0.65) return [[{ do: "sleep", ms: dice.int(1, 60), deaf: dice.chance(0.5) }]];
  if (draw < 0.8) return [[{ do: "fail", kind: "transient" }], []];
  if (draw < 0.9) return [[{ do: "exit" }], []];
  return [[{ do: "fail", kind: "permanent" }], []];
}

/** A request without an idempotency key that had no answer is another input when it is sent again. */
async function submitUntilAnswered(world: World, one: Input): Promise<void> {
  const { dice } = world;
  for (let tries = dice.int(1, 5); tries > 0; tries--) {
    const marker = one.idempotencyKey === undefined ? `${one.marker}.${tries}` : one.marker;
    if (await submitOnce(world, one, marker)) return;
    await pause(world, dice.spread(5, 3000));
  }
}

/** Returns true when no later try can have another answer. */
async function submitOnce(world: World, one: Input, marker: string): Promise<boolean> {
  const { core, witness, time, dice } = world;
  const { type, key, attempts, expires, idempotencyKey } = one;
  const [identity] = identities;
  const now = time.now;
  one.began ??= now;
  const began = idempotencyKey === undefined ? now : one.began;
  const body = {
    ...{ type, input: { attempts, pad: marker, key }, unique: { key, mode: "collect" } },
    ...(expires !== undefined && { expires_in_seconds: expires }),
  };
  const what = () => `collects ${marker} ${idempotencyKey ?? ""} in ${key}`;
  const answer = await serve(world, "submit", identity.tenantId, what, (invocation) =>
    core.submit.submit(portsFor(world, invocation), { identity, body, idempotencyKey, correlationId: "correlation" }),
  );
  if (answer.got === "value") {
    const { record, collected = 0 } = answer.value;
    isAccepted(world, record.task_id);
    witness.keys.answered(identity, idempotencyKey, record);
    witness.lists.accepted(record, { marker, number: collected, began, answered: time.now });
    if (dice.chance(0.1)) time.after(dice.spread(1, 5000), () => act(world, record));
  }
  return answer.got === "value" || (answer.got === "problem" && !passing.has(answer.code));
}
