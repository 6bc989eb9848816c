import { expect, test } from "vitest";
import { drainRounds } from "../support/drain-rounds.ts";

test("after random SIGTERM and SIGKILL of workers under load no task is lost and none is stuck", async () => {
  const { tasks, completed, others, badExits } = await drainRounds(4, 11);
  expect({ completed, others, badExits }).toEqual({ completed: tasks, others: [], badExits: 0 });
});
