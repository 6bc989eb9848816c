import { defineTask } from "offload";
import * as z from "zod";
import { call } from "./lib/world.ts";

export default defineTask({
  name: "chart.send",
  input: z.strictObject({ chart: z.string(), channels: z.array(z.string()) }),
  handler: async ({ chart, channels }, task) => {
    const url = await task.step("render", () => call<string>("charts/render", { chart }));
    for (const channel of channels) {
      await task.step(channel, { maxAttempts: 3 }, (key) => call("chat/send", { channel, url }, key));
    }
  },
});
