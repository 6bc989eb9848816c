import type { TaskRecord } from "../../src/core/model/record.ts";
import type { Tier } from "../../src/core/model/words.ts";
import type { Life } from "./lives.ts";
import { flowPortsFor, portsFor } from "./ports.ts";
import { newInvocation } from "./serve.ts";
import type { World } from "./world.ts";

const dayMs = 86_400_000;

/** A pass has this time, in milliseconds. */
const passMs = 600_000;

/** A parent waits no longer than this for a child that cannot start, in milliseconds: some passes may meet a trouble. */
const mostWaitMs = 5 * dayMs;

/** Days on which there is a pass: more than a task waits for its next attempt. */
const mostDays = 60;

/**
 * The daily reconciliation, from the death of a process that has created a child, and not sent its message. It sees such
 * children, what it has ended itself, and no other task: those must go on without it, so that no fault of theirs is
 * hidden.
 */
export class DailyRescue {
  readonly #world: World;
  #days = 0;

  constructor(world: World) {
    this.#world = world;
  }

  /** A process has died that has created children. */
  orphaned(): void {
    if (this.#days > 0 || childrenWithoutMessage(this.#world).length === 0) return;
    this.#days = mostDays;
    this.#tomorrow();
  }

  #tomorrow(): void {
    this.#world.time.after(dayMs, () => {
      const lost = childrenWithoutMessage(this.#world);
      const open = [...lost, ...notFollowed(this.#world)];
      this.#days = open.length === 0 ? 0 : this.#days - 1;
      if (this.#days === 0) return;
      this.#tomorrow();
      for (const child of lost) judgeLost(this.#world, child);
      void pass(this.#world, open);
    });
  }
}

const childrenWithoutMessage = (world: World): TaskRecord[] =>
  [...world.witness.lives.values()].flatMap((life) => {
    const child = recordOf(world, life);
    return child !== undefined && neverHadMessage(world, life, child) ? [child] : [];
  });

/** Tasks that an earlier pass has ended, and of which nobody may have heard. */
const notFollowed = (world: World): TaskRecord[] =>
  [...world.witness.lives.values()].flatMap((life) => {
    const record = recordOf(world, life);
    return record?.rescued_at === undefined ? [] : [record];
  });

/** Also true for a child that may no longer start: until somebody writes that it has expired, its parent waits for it. */
function neverHadMessage({ core, witness }: World, { taskId, claims, by }: Life, record: TaskRecord): boolean {
  if (record.family_leaf === undefined || claims.length > 0 || by.process.alive) return false;
  return !core.status.isTerminal(record.status) && !witness.costs.wasSent(taskId);
}

function recordOf({ table }: World, { tenantId, taskId, createdAt }: Life): TaskRecord | undefined {
  const record = table.read({ tenant_id: tenantId, task_id: taskId });
  return record?.created_at === createdAt ? record : undefined;
}

/** The attempt that begins to wait sends the message, if the record has the input. Otherwise a reconciliation ends the wait. */
function judgeLost({ table, time, witness }: World, child: TaskRecord): void {
  const parent = table.read({ tenant_id: child.tenant_id, task_id: child.parent_id ?? "" });
  if (parent?.status !== "processing" || parent.family_state !== "waiting") return;
  const hasInput = child.shown_input !== undefined || child.kept_input !== undefined;
  if (hasInput) witness.violated("its parent waits for it, and nobody has sent its message", child.task_id);
  const waited = time.now - Math.max(Date.parse(child.due_at), Date.parse(parent.updated_at));
  if (waited > mostWaitMs) witness.violated("its parent waits for days, and it never had a message", child.task_id);
}

export async function pass(world: World, open: readonly TaskRecord[]): Promise<void> {
  const { core, queues, story, time, witness, processes } = world;
  const { process, invoke } = newInvocation(world, "fire", "rescue");
  const invocation = invoke();
  const ports = {
    ...portsFor(world, invocation),
    ...flowPortsFor(world, invocation),
    openTasks: { part: async () => ({ items: [...open], next: undefined }) },
    depths: { ofTier: async (tier: Tier) => queues.depthOf(tier), ofDlq: async () => noMessages },
  };
  try {
    const { sent, ended, left } = await core.reconcile.reconcile(ports, time.now + passMs);
    story.tell(time.now, invocation.name, () => `sends ${sent}, ends ${ended}, leaves ${left}`);
  } catch (error) {
    if (!(error instanceof core.errors.PortUnavailable)) witness.violated(`the rescue threw: ${String(error)}`);
  }
  processes.living.delete(process);
}

const noMessages = { visible: 0, delayed: 0, inFlight: 0 };
