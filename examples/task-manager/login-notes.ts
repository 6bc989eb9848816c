import { setTimeout as sleep } from "node:timers/promises";
import { createClient, type TaskInput } from "offload/client";
import type * as tasks from "./tasks/index.ts";
import type { Users } from "./users/users.ts";

type Note = TaskInput<typeof tasks, "user.note_login">;

/** A login waits for its note to be accepted at most this long. */
const acceptMs = 250;

/** Notes that wait in this process's memory at most. */
const mostWaiting = 10_000;

export type LoginNotes = ReturnType<typeof createLoginNotes>;

/**
 * Submits a task for each login, and never fails one. While Offload does not accept a note, such as when the queue is full, the
 * login is answered, and the client repeats the submit. A note that cannot wait is stored here: only a mail about a new device is
 * missing then.
 */
export function createLoginNotes(connection: { url: string; key: string }, users: Users) {
  const offload = createClient<typeof tasks>({ ...connection, maxTries: Number.POSITIVE_INFINITY });
  const waiting = new Map<Note, Promise<void>>();

  async function storeHere(note: Note, why: unknown): Promise<void> {
    console.error(`stored the login ${note.id} without its task:`, why);
    await users.noteLogin(note.email, note);
  }

  async function submit(note: Note): Promise<void> {
    try {
      await offload.submit("user.note_login", note, { idempotencyKey: note.id });
    } catch (error) {
      await storeHere(note, error);
    }
  }

  return {
    /** Resolves when the note is accepted, or soon after. */
    async add(note: Note): Promise<void> {
      if (waiting.size >= mostWaiting) return storeHere(note, "too many notes wait");
      const sent = submit(note).finally(() => waiting.delete(note));
      waiting.set(note, sent);
      await Promise.race([sent, sleep(acceptMs)]);
    },

    /** Waits until all notes are accepted, at most this long, and stores the others here. */
    async drain(mostMs: number): Promise<void> {
      await Promise.race([Promise.all(waiting.values()), sleep(mostMs)]);
      for (const note of waiting.keys()) await storeHere(note, "the service stops");
    },
  };
}
