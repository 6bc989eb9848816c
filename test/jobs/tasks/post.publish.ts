import { defineTask, PermanentError, StepFailed, type TaskContext } from "offload";
import * as z from "zod";
import { call } from "./lib/world.ts";

type Post = {
  state: string;
  parts: { id: string; text: string; delayMinutes: number }[];
  problem: string | null;
  everyDays: number;
  plugs: { id: string; delaySeconds: number }[];
};

const tries = { maxAttempts: 3, retry: { baseSeconds: 120, factor: 1 }, timeoutSeconds: 50 };

/** Calls the network; where the token is too old, it gets another one and calls again. */
async function withToken(task: TaskContext, name: string, postId: string, path: string, body: object) {
  for (let turn = 1; turn <= 5; turn += 1) {
    const sent = await task.step(`${name}, ${turn}`, tries, async (key) => {
      try {
        return await call(path, { ...body }, key);
      } catch (error) {
        if (error instanceof Response && error.status === 401) return null;
        throw error;
      }
    });
    if (sent !== null) return sent.id;
    await task.step(`token for ${name}, ${turn}`, tries, () => call("token/refresh", { postId }));
  }
  throw new PermanentError("the token cannot be refreshed");
}

/** Submitted with `unique: { key: postId }`: `client.reschedule` moves its date. */
const publish = defineTask({
  name: "post.publish",
  input: z.strictObject({ postId: z.string(), channel: z.string(), again: z.boolean().default(false) }),
  concurrency: { key: ({ channel }) => channel, limit: 3 },
  onFailed: async ({ postId }, { error }, task) => {
    await task.step("state", () => call("db/post/state", { postId, state: "ERROR", error }));
    await task.step("tell", (key) => call("app/notify", { postId, error }, key));
  },
  handler: async ({ postId, channel, again }, task): Promise<{ published: number }> => {
    const post = await task.step("load", tries, () => call<Post | null>("db/post", { postId }));
    if (post === null) throw new PermanentError("no post");
    if (!again && post.state !== "QUEUE") throw new PermanentError("already posted");
    if (post.problem !== null) throw new PermanentError(post.problem);
    const ids: string[] = [];
    for (const { id, text, delayMinutes } of post.parts) {
      if (ids.length > 0) await task.sleep(delayMinutes * 60);
      ids.push(await withToken(task, `post ${id}`, postId, "social/post", { text, replyTo: ids[0] }));
      await task.step(`posted ${id}`, tries, () => call("db/post/state", { postId: id, state: "PUBLISHED" }));
    }
    await task.step("webhooks", tries, (key) => call("webhook/send", { postId }, key));
    const { everyDays } = post;
    if (everyDays > 0)
      await task.submit(publish, { postId, channel, again: true }, { delaySeconds: everyDays * 86_400 });
    let slept = 0;
    for (const { id, delaySeconds } of post.plugs.toSorted((a, b) => a.delaySeconds - b.delaySeconds)) {
      await task.sleep(delaySeconds - slept);
      slept = delaySeconds;
      await withToken(task, `plug ${id}`, postId, "social/plug", { id, post: ids[0] }).catch((error) => {
        if (!(error instanceof StepFailed)) throw error;
      });
    }
    return { published: ids.length };
  },
});

export default publish;
