import { serve } from "@hono/node-server";
import { serveStatic } from "@hono/node-server/serve-static";
import { Hono } from "hono";
import { HTTPException } from "hono/http-exception";
import { createClient, ProblemError, type TaskView } from "offload/client";
import * as z from "zod";
import type * as tasks from "./tasks/index.ts";

export interface ServerOptions {
  offloadUrl: string;
  /** Never reaches the page. */
  key: string;
  /** Heights of the renditions. */
  heights: number[];
}

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const uploadSchema = z.strictObject({ name: z.string(), type: z.string(), size: z.int(), sha256 });
const videoSchema = z.strictObject({ upload_id: z.uuid(), sha256 });

/** Headers of Offload's answers that the page gets. */
const passedOn = ["location", "content-type", "content-disposition"];

export function createServer({ offloadUrl, key, heights }: ServerOptions): Hono {
  const offload = createClient<typeof tasks>({ url: offloadUrl, key });
  const app = new Hono();

  /** Calls Offload's API, and does not follow a redirect. */
  const call = (path: string, body?: object) =>
    fetch(new URL(path, offloadUrl), {
      ...(body && { method: "POST", body: JSON.stringify(body) }),
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      redirect: "manual",
    });

  const pass = ({ status, headers, body }: Response) =>
    new Response(body, { status, headers: [...headers].filter(([name]) => passedOn.includes(name)) });

  /** The task, if it is of this type: pages must not read others of the tenant. */
  async function find(id: string, type: string): Promise<TaskView> {
    const task = await offload.status(id);
    if (task.type !== type) throw new HTTPException(404, { message: "There is no such video." });
    return task;
  }

  // The page sends its file to the URL of the answer: the bytes do not come through this server.
  app.post("/uploads", async (c) => {
    const { name, type, size, sha256 } = uploadSchema.parse(await c.req.json());
    return pass(await call("/uploads", { file_name: name, content_type: type, size_bytes: size, sha256 }));
  });

  app.post("/videos", async (c) => {
    const { upload_id, sha256 } = videoSchema.parse(await c.req.json());
    const options = { files: { video: upload_id }, idempotencyKey: `video-${sha256}` };
    const id = await offload.submit("video.encode", { heights }, options).then(
      ({ task_id }) => task_id,
      (error: unknown) => {
        // The same video in another upload: it has its task already.
        if (error instanceof ProblemError && error.taskId !== undefined) return error.taskId;
        throw error;
      },
    );
    return c.json({ id }, 202);
  });

  app.get("/videos/:id{[0-9a-f-]{36}}", async (c) => {
    const { task_id, status, children, error, error_kind, result } = await find(c.req.param("id"), "video.encode");
    const renditions = children === null ? [] : await childrenOf(task_id);
    const failed = renditions.find((rendition) => rendition.status === "failed");
    return c.json({
      status,
      progress: status === "completed" ? 100 : mean(renditions.map(percentOf)),
      error: error_kind === "children_failed" ? (failed?.error ?? error) : error,
      renditions: result,
    });
  });

  const childrenOf = async (id: string) =>
    ((await (await call(`/tasks/${id}/children`)).json()) as { tasks: TaskView[] }).tasks;

  app.post("/videos/:id{[0-9a-f-]{36}}/retry", async (c) => {
    const { task_id } = await find(c.req.param("id"), "video.encode");
    await offload.retry(task_id);
    return c.json({ id: task_id }, 202);
  });

  // 303 to the file in the bucket, where it is read with `Range`; a file of up to 300 KiB is in the answer.
  app.get("/renditions/:id{[0-9a-f-]{36}}", async (c) => {
    const { task_id } = await find(c.req.param("id"), "video.rendition");
    return pass(await call(`/tasks/${task_id}/result`));
  });

  app.use(serveStatic({ root: "page" }));

  app.onError((error, c) => {
    if (error instanceof z.ZodError) return c.json({ error: z.prettifyError(error) }, 422);
    if (error instanceof HTTPException) return c.json({ error: error.message }, error.status);
    if (error instanceof ProblemError) return Response.json({ error: error.detail }, { status: error.status });
    console.error(error);
    return c.json({ error: "Please try again." }, 502);
  });

  return app;
}

const percentOf = ({ status, progress }: TaskView): number => (status === "completed" ? 100 : (progress ?? 0));

const mean = (numbers: number[]): number => numbers.reduce((sum, one) => sum + one, 0) / Math.max(1, numbers.length);

if (import.meta.main) {
  const {
    OFFLOAD_URL = "http://127.0.0.1:3000",
    OFFLOAD_KEY = "",
    WEB_PORT = "4000",
    HEIGHTS = "1080,720,360",
  } = process.env;
  const app = createServer({ offloadUrl: OFFLOAD_URL, key: OFFLOAD_KEY, heights: HEIGHTS.split(",").map(Number) });
  serve({ fetch: app.fetch, port: Number(WEB_PORT), hostname: "127.0.0.1" }, ({ port }) =>
    console.log(`Open http://127.0.0.1:${port} and choose a video.`),
  );
}
