import { mkdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The ids of an attempt. */
interface Attempt {
  taskId: string;
  attemptOverall: number;
}

/** Calls `work` with a folder of its own, and removes the folder at the end. Also removes what killed workers left of earlier attempts. */
export async function inFolder<T>(
  { taskId, attemptOverall }: Attempt,
  work: (folder: string) => Promise<T>,
): Promise<T> {
  const folderOf = (attempt: number) => join(tmpdir(), `video-${taskId}-${attempt}`);
  const remove = (attempt: number) => rm(folderOf(attempt), { recursive: true, force: true });
  for (let attempt = 1; attempt <= attemptOverall; attempt++) await remove(attempt);
  await mkdir(folderOf(attemptOverall));
  try {
    return await work(folderOf(attemptOverall));
  } finally {
    await remove(attemptOverall);
  }
}
