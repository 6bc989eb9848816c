import type { CloudFormationCustomResourceEvent } from "aws-lambda";

/** Sends a request. Default: the global `fetch`. */
type Fetch = (
  url: string,
  init: { method: string; headers: Record<string, string>; body: string },
) => Promise<{ ok: boolean; status: number }>;

/**
 * Does the work of a custom resource and reports its end to CloudFormation, which otherwise waits for the resource's
 * time-out. A failure fails the deployment, and its message is the reason that CloudFormation shows.
 * @throws Error when CloudFormation does not take the report; then Lambda calls the function again
 */
export async function asResource(
  physicalId: string,
  event: CloudFormationCustomResourceEvent,
  work: () => Promise<void>,
  send: Fetch = fetch,
): Promise<void> {
  const { StackId, RequestId, LogicalResourceId, ResponseURL } = event;
  const outcome = await work().then(
    () => ({ Status: "SUCCESS" }),
    (error: unknown) => ({ Status: "FAILED", Reason: String(error) }),
  );
  const body = JSON.stringify({ ...outcome, PhysicalResourceId: physicalId, StackId, RequestId, LogicalResourceId });
  // The address is signed for an empty type; fetch would add one.
  const { ok, status } = await send(ResponseURL, { method: "PUT", headers: { "content-type": "" }, body });
  if (!ok) throw new Error(`CloudFormation's address answered ${status} to the report of ${LogicalResourceId}`);
}
