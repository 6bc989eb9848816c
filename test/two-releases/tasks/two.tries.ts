import { defineTask } from "offload";
import * as z from "zod";
import { effect } from "./lib/effects.ts";
import child from "./two.child.ts";

/** A step with tries of its own, a child that it waits for, and signals one after the other. */
export default defineTask({
  name: "two.tries",
  input: z.strictObject({ number: z.int() }),
  handler: async ({ number }, task) => {
    let tries = 0;
    await task.step(
      "tried",
      { maxAttempts: 6, retry: { baseSeconds: 6, factor: 1, maxSeconds: 6 } },
      (_, { attempt }) => {
        tries = attempt;
        if (attempt < 3) throw new Error("not yet");
        effect(task, "tried");
      },
    );
    await task.run(child, { number }, { key: "child" });
    await task.nextSignal("go", { timeoutSeconds: 3_600 });
    effect(task, "run", { tries });
  },
});
