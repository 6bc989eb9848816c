import { Problem } from "../model/problem.ts";
import { iso, type TaskKey, type TaskRecord } from "../model/record.ts";
import type { EndPorts } from "../ports/extra.ts";
import type { Clock, Records } from "../ports/tasks.ts";
import type { EntryPorts } from "../send/keep-entries.ts";
import { reportChanged } from "../send/report.ts";
import { startRound } from "./control.ts";

/**
 * Key of one dead letter: a task and the time at which it failed. A task that is replayed and fails again is another
 * one.
 */
export interface LetterKey extends TaskKey {
  dead_letter_at: string;
}

/** Outcome of a replay or discard of one dead letter. `skipped`: it no longer existed. */
export type LetterOutcome = "done" | "skipped" | "failed";

interface ReadPorts {
  records: Records;
  clock: Clock;
}

/**
 * Starts a new round of a dead letter's task, if the dead letter still exists. May be repeated.
 * @throws PortUnavailable
 */
export async function replayOne(ports: EndPorts & EntryPorts, letter: LetterKey): Promise<LetterOutcome> {
  const record = await stillThere(ports, letter);
  if (record === undefined) return "skipped";
  try {
    await startRound(ports, record);
    return "done";
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return error.code === "conflict" ? "skipped" : "failed";
  }
}

/**
 * Removes a task from the dead letters; its record stays `failed`. May be repeated.
 * @throws PortUnavailable
 */
export async function discardOne(ports: EndPorts, letter: LetterKey): Promise<LetterOutcome> {
  const changed = await ports.records.change(letter, {
    when: stillDeadLetter(ports, letter),
    set: { updated_at: iso(ports.clock.now()) },
    remove: ["dead_letter_at", "buried_at"],
  });
  if (!changed.done) return "skipped";
  reportChanged(ports, changed.record, "discarded");
  return "done";
}

/**
 * Returns the record if it still is this dead letter. This is a conditional write, as a read may return an old record:
 * then a replay would be left out, or a DLQ message deleted, by mistake.
 */
export async function stillThere(ports: ReadPorts, letter: LetterKey): Promise<TaskRecord | undefined> {
  const changed = await ports.records.change(letter, {
    when: stillDeadLetter(ports, letter),
    set: { updated_at: iso(ports.clock.now()) },
  });
  return changed.done ? changed.record : undefined;
}

const stillDeadLetter = (ports: ReadPorts, letter: LetterKey) =>
  ({
    status: { is: "failed" },
    dead_letter_at: { is: letter.dead_letter_at },
    purge_at: { above: Math.floor(ports.clock.now() / 1000) },
  }) as const;
