import { retry } from "../control.ts";
import type { DispatchPorts } from "../dispatch.ts";
import type { Clock, Records } from "../ports.ts";
import { Problem } from "../problem.ts";
import { iso, type TaskKey, type TaskRecord } from "../record.ts";
import { reportChanged } from "../report.ts";

/** A dead letter at a moment: once the task is replayed, discarded or fails again, it is another one or none. */
export interface LetterKey extends TaskKey {
  dead_letter_at: string;
}

/** What acting on a dead letter came to; `skipped`: it was no longer there. */
export type Acted = "done" | "skipped" | "failed";

interface ReadPorts {
  records: Records;
  clock: Clock;
}

/**
 * Gives a dead letter a new round, unless it is another one by now. Repeatable.
 * @throws PortUnavailable
 */
export async function replayOne(ports: DispatchPorts, letter: LetterKey): Promise<Acted> {
  const record = await stillThere(ports, letter);
  if (record === undefined) return "skipped";
  try {
    await retry(ports, record);
    return "done";
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return error.code === "conflict" ? "skipped" : "failed";
  }
}

/**
 * Takes a task out of the dead letters; its record stays `failed`. Repeatable.
 * @throws PortUnavailable
 */
export async function discardOne(ports: DispatchPorts, letter: LetterKey): Promise<Acted> {
  const changed = await ports.records.change(letter, {
    when: standing(ports, letter),
    set: { updated_at: iso(ports.clock.now()) },
    remove: ["dead_letter_at", "buried_at"],
  });
  if (!changed.done) return "skipped";
  reportChanged(ports, changed.record, "discarded");
  return "done";
}

/**
 * The record, if it still is this very dead letter. Asked by a conditional write: what a replica says may be behind, and both
 * a replay left out and a DLQ message deleted on old news would be wrong.
 */
export async function stillThere(ports: ReadPorts, letter: LetterKey): Promise<TaskRecord | undefined> {
  const changed = await ports.records.change(letter, {
    when: standing(ports, letter),
    set: { updated_at: iso(ports.clock.now()) },
  });
  return changed.done ? changed.record : undefined;
}

const standing = (ports: ReadPorts, letter: LetterKey) =>
  ({
    status: { is: "failed" },
    dead_letter_at: { is: letter.dead_letter_at },
    purge_at: { above: Math.floor(ports.clock.now() / 1000) },
  }) as const;
