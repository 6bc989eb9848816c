import type { CloudFormationCustomResourceEvent } from "aws-lambda";
import { expect, test, vi } from "vitest";
import { asResource } from "../../src/aws/cloudformation.ts";

const event = {
  RequestType: "Update",
  ResponseURL: "https://cloudformation.example.com/answer?signature=1",
  StackId: "arn:aws:cloudformation:stack",
  RequestId: "request-1",
  LogicalResourceId: "Catalog",
} as CloudFormationCustomResourceEvent;

const report = (more: object) => ({
  ...{ PhysicalResourceId: "catalog", StackId: event.StackId, RequestId: "request-1", LogicalResourceId: "Catalog" },
  ...more,
});

/** Does the work, and returns the report that CloudFormation gets. */
async function reportOf(work: () => Promise<void>) {
  const send = vi.fn(async (_url: string, _init: { body: string }) => ({ ok: true, status: 200 }));
  await asResource("catalog", event, work, send);
  const [[url, init] = []] = send.mock.calls;
  expect(url).toBe(event.ResponseURL);
  expect(init).toMatchObject({ method: "PUT", headers: { "content-type": "" } });
  return JSON.parse(init?.body ?? "");
}

test("the end of the work is reported", async () => {
  expect(await reportOf(async () => {})).toEqual(report({ Status: "SUCCESS" }));
});

test("a failure is reported with its reason, so that the deployment fails at once", async () => {
  const failed = await reportOf(() => Promise.reject(new Error("the item is too large")));
  expect(failed).toEqual(report({ Status: "FAILED", Reason: "Error: the item is too large" }));
});

test("a report that does not arrive fails the invocation, so that Lambda repeats it", async () => {
  const refuse = async () => ({ ok: false, status: 503 });
  await expect(asResource("catalog", event, async () => {}, refuse)).rejects.toThrow("answered 503");
});
