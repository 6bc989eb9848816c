import { defineTask } from "offload";
import * as z from "zod";

/** The end of a text, and where it begins: as much as fits into the data of a progress. */
function endOf(text: string) {
  let at = Math.max(0, text.length - 900);
  while (Buffer.byteLength(JSON.stringify(text.slice(at))) > 900) at += 50;
  return { at, words: text.slice(at) };
}

export default defineTask({
  name: "chat.answer",
  input: z.strictObject({ question: z.string() }),
  push: "result",
  handler: async ({ question }, task) => {
    const url = process.env.MODEL_URL ?? "";
    const response = await fetch(url, { method: "POST", body: question, signal: task.signal });
    if (!response.ok || response.body === null) throw response;
    let text = "";
    for await (const words of response.body.pipeThrough(new TextDecoderStream())) {
      text += words;
      task.progress(0, { data: endOf(text) });
    }
    return { text };
  },
});
