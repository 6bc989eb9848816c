import assert from "node:assert/strict";
import { InvokeCommand, LambdaClient } from "@aws-sdk/client-lambda";
import { createClient } from "../../src/client/index.ts";
import type { EmulatedAccount } from "./emulated-account.ts";

/** Invokes a function of an emulated account. Returns its answer. */
export async function invoke(account: EmulatedAccount, functionName: string, payload: object): Promise<unknown> {
  const lambda = new LambdaClient({
    endpoint: account.endpoint.href,
    region: "us-east-1",
    credentials: { accessKeyId: "test", secretAccessKey: "test" },
  });
  const command = new InvokeCommand({ FunctionName: functionName, Payload: Buffer.from(JSON.stringify(payload)) });
  const { Payload } = await lambda.send(command);
  return JSON.parse(Buffer.from(Payload ?? []).toString("utf8"));
}

/** Lets the function of the second stack submit tasks; the API has to show them. */
export async function submitDirectly(
  account: EmulatedAccount,
  functionName: string,
  url: string,
  key: string,
): Promise<void> {
  const submit = async (payload: object) => (await invoke(account, functionName, payload)) as { task_id: string };
  const client = createClient({ url, key });
  for (const options of [{}, { delaySeconds: 1 }, { idempotencyKey: "direct-1" }]) {
    const task = await submit({ type: "probe.echo", input: { value: "direct" }, options });
    assert.deepEqual(await client.result(task, { timeoutMs: 60_000 }), { value: "direct" });
  }
  assert.deepEqual(await submit({ type: "probe.none", input: {} }), { code: "unknown_task_type" });
  assert.deepEqual(await submit({ type: "probe.sleep", input: { ms: "long" } }), { code: "invalid_input" });
  console.log("Direct submits: a function of a second stack submitted three tasks, which completed");
}
