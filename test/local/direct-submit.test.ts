import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Client } from "../support/http-client.ts";
import { type OwnServer, startOwnServer } from "../support/local-server.ts";

/** A program with nothing but the environment that the server has written. */
const program = `
import { createDirectClient } from ${JSON.stringify("./src/direct/index.ts")};

const [type, input, options] = process.argv.slice(1).map((text) => JSON.parse(text));
const offload = createDirectClient({ tenant: "acme", principal: "shop", log: false });
try {
  console.log(JSON.stringify(await offload.submit(type, input, options)));
} catch ({ code, errors }) {
  console.log(JSON.stringify({ code, errors }));
}
`;

describe("a program beside the local server", { timeout: 300_000 }, () => {
  let folder: string;
  let server: OwnServer;
  let client: Client;
  const submit = async (type: string, input: unknown, options: object = {}) => {
    const args = [`--env-file=${join(folder, "direct.env")}`, "--input-type=module-typescript", "-e", program, "--"];
    const values = [type, input, options].map((value) => JSON.stringify(value));
    const env = { PATH: process.env.PATH ?? "" };
    const { stdout } = await promisify(execFile)(process.execPath, [...args, ...values], { env });
    return JSON.parse(stdout) as { task_id: string; code?: string; errors?: unknown };
  };

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "offload-direct-"));
    server = await startOwnServer({ OFFLOAD_STATE_DIR: folder });
    client = new Client(server.url, { token: "dev-acme", tenant: "acme", role: "operator" });
  }, 300_000);
  afterAll(async () => {
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  test("submits a task directly, which completes and which the API shows", async () => {
    const { task_id } = await submit("probe.echo", { value: "direct" }, { tags: { from: "shop" } });
    expect(await client.ended(task_id)).toMatchObject({
      ...{ status: "completed", result: { value: "direct" }, tags: { from: "shop" } },
    });
    expect((await client.list("tag.from=shop")).map((task) => task.task_id)).toEqual([task_id]);
  });

  test("submits a delayed task, and finds it again by its key", async () => {
    const options = { delaySeconds: 2, idempotencyKey: "key-1" };
    const { task_id } = await submit("probe.echo", { value: 1 }, options);
    expect(await submit("probe.echo", { value: 1 }, options)).toMatchObject({ task_id });
    expect(await client.ended(task_id)).toMatchObject({ status: "completed" });
  });

  test("is refused as the API refuses", async () => {
    expect(await submit("probe.none", {})).toMatchObject({ code: "unknown_task_type" });
    expect(await submit("probe.sleep", { ms: "long" })).toMatchObject({
      code: "invalid_input",
      errors: [{ path: "/input/ms" }],
    });
  });

  test("reads its environment from a file that only this user can read", () => {
    expect(statSync(join(folder, "direct.env")).mode & 0o077).toBe(0);
  });
});
