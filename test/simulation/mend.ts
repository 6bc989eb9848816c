import { portsFor } from "./ports.ts";
import { serve } from "./serve.ts";
import type { World } from "./world.ts";

interface Key {
  tenant_id: string;
  task_id: string;
}

/** Retries a failed task with another input, as somebody does who has found the fault in it. The laws then know which input a round must have. */
export async function mend(world: World, key: Key): Promise<void> {
  const { core, dice, story, witness } = world;
  const life = witness.life(key.task_id);
  if (life?.input === undefined) return;
  const input = { ...JSON.parse(life.input), pad: `mended ${dice.int(1, 1_000_000)}` };
  const what = () => `retry ${story.name(key.task_id)} with another input`;
  await serve(world, "control", key.tenant_id, what, async (invocation) => {
    invocation.input = JSON.stringify(input);
    const ports = portsFor(world, invocation);
    const record = await ports.records.get(key);
    if (record === undefined || !core.record.isKept(record, ports.clock.now()))
      throw new core.problem.Problem("not_found", "");
    return core.control.retry(ports, record, { input, version: 1 });
  });
}
