import { defineTask } from "offload";
import * as z from "zod";
import { call, stream } from "./lib/world.ts";

type Message = { role: "user" | "assistant"; content: string };

/** The end of an answer, and where it begins: as much as fits into the data of a progress. */
export function endOf(text: string) {
  let at = Math.max(0, text.length - 900);
  while (Buffer.byteLength(JSON.stringify(text.slice(at))) > 900) at += 50;
  return { at, words: text.slice(at) };
}

export default defineTask({
  name: "flight.chat",
  input: z.strictObject({ message: z.string() }),
  handler: async ({ message }, task) => {
    const messages: Message[] = [{ role: "user", content: message }];
    for (let turn = 1; ; turn += 1) {
      const content = await task.step(`turn ${turn}`, { maxAttempts: 4, timeoutSeconds: 50 }, async () => {
        let text = "";
        for await (const words of stream("llm/answer", { messages })) {
          text += words;
          task.progress(0, { data: { turn, ...endOf(text) } });
        }
        return text;
      });
      messages.push({ role: "assistant", content });
      // The page has read along. It replaces what it has with the whole answer.
      await task.step(`save ${turn}`, async (key) => {
        await call("db/message", { taskId: task.taskId, turn, content }, key);
        task.progress(0, { data: { turn, saved: true } });
      });
      const next = await task.nextSignal<string>("message", { timeoutSeconds: 86_400 });
      if (next === undefined || next === "/done") return { messages };
      messages.push({ role: "user", content: next });
    }
  },
});
