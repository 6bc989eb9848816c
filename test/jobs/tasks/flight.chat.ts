import { defineTask } from "offload";
import * as z from "zod";
import { call } from "./lib/world.ts";

type Message = { role: "user" | "assistant"; content: string };

export default defineTask({
  name: "flight.chat",
  input: z.strictObject({ message: z.string() }),
  handler: async ({ message }, task) => {
    const messages: Message[] = [{ role: "user", content: message }];
    for (let turn = 1; ; turn += 1) {
      const content = await task.step(`turn ${turn}`, { maxAttempts: 4, timeoutSeconds: 50 }, () =>
        call<string>("llm/answer", { messages }),
      );
      messages.push({ role: "assistant", content });
      // The page gets the answer from here: whole, and not word by word.
      await task.step(`show ${turn}`, (key) => call("page/send", { taskId: task.taskId, turn, content }, key));
      const next = await task.nextSignal<string>("message", { timeoutSeconds: 86_400 });
      if (next === undefined || next === "/done") return { messages };
      messages.push({ role: "user", content: next });
    }
  },
});
