import { defineTask } from "offload";
import * as z from "zod";
import { call } from "./lib/world.ts";

export default defineTask({
  name: "card.send",
  input: z.strictObject({
    prompt: z.string(),
    to: z.email(),
    friends: z.array(z.email()).max(20),
    birthday: z.iso.datetime(),
  }),
  handler: async ({ prompt, to, friends, birthday }, task) => {
    const prompts = await task.step("prompts", () => call<{ text: string; image: string }>("llm/prompts", { prompt }));
    const [image, text] = await Promise.all([
      task.step("image", () => call<string>("llm/image", { prompt: prompts.image })),
      task.step("text", () => call<string>("llm/text", { prompt: prompts.text })),
    ]);
    const linkTo = (signal: string) => task.signalUrl(signal, { expiresInSeconds: 30 * 86_400 });
    const ask = (friend: string, i: number) =>
      task.step(`ask ${i}`, async (key) => {
        const [yes, no] = await Promise.all([linkTo(`yes.${i}`), linkTo(`no.${i}`)]);
        await call("mail/send", { to: friend, yes, no }, key);
      });
    await Promise.all(friends.map(ask));
    const answers = await Promise.all(
      friends.map((_, i) => task.waitForAny({ [`yes.${i}`]: {}, [`no.${i}`]: {} }, { until: birthday })),
    );
    await task.sleepUntil(birthday);
    const replies = answers.map((answer, i) => ({
      email: friends[i],
      reply: answer?.name.split(".")[0] ?? "no-response",
    }));
    await task.step("card", (key) => call("mail/send", { to, image, text, replies }, key));
    return { image, text };
  },
});
