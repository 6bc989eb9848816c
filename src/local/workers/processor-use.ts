import { cpus } from "node:os";

/** Returns a function that tells which share of the machine's processors was in use since its last call, 0 to 1. */
export function processorUse(read: typeof cpus = cpus): () => number {
  let before = totals(read);
  let share = 0;
  return () => {
    const now = totals(read);
    const [all, idle] = [now.all - before.all, now.idle - before.idle];
    // The system counts in steps of 10 ms.
    if (all < 100) return share;
    before = now;
    share = 1 - idle / all;
    return share;
  };
}

function totals(read: typeof cpus): { all: number; idle: number } {
  const times = read().map(({ times }) => times);
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  return { all: sum(times.flatMap((one) => Object.values(one))), idle: sum(times.map(({ idle }) => idle)) };
}
