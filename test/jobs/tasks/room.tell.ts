import { defineTask, StepFailed } from "offload";
import * as z from "zod";
import { call } from "./lib/world.ts";

type Viewer = { id: string; link: string | null; frequency: "instant" | "daily" | "weekly" | "never" };

export default defineTask({
  name: "room.tell",
  input: z.strictObject({ roomId: z.string(), documentId: z.string() }),
  maxAttempts: 3,
  handler: async ({ roomId, documentId }, task) => {
    const viewers = await task.step("viewers", () => call<Viewer[]>("db/viewers", { roomId }));
    const told = viewers.filter(({ link, frequency }) => link !== null && frequency !== "never");
    for (const { id, link, frequency } of told) {
      const path = frequency === "instant" ? "mail/send" : "digest/add";
      try {
        await task.step(id, { maxAttempts: 3 }, (key) => call(path, { id, link, documentId, frequency }, key));
      } catch (error) {
        if (!(error instanceof StepFailed)) throw error;
        task.log.error("could not tell a viewer", { id, error: error.cause.message });
      }
    }
  },
});
