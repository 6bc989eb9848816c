import type { IncomingMessage, ServerResponse } from "node:http";

const message =
  "This queue belongs to the local server, which cannot work without it. To empty it, call PurgeQueue; to begin anew, stop the server and delete its folder.";
const code = "AWS.SimpleQueueService.UnsupportedOperation";

/**
 * Refuses to delete a queue of the server's own: each later submit to it would fail, until the next start.
 * @param own Names of these queues.
 * @returns True when the request was answered.
 */
export function refusesDeletion(
  { headers, url = "" }: IncomingMessage,
  body: Buffer,
  response: ServerResponse,
  own: ReadonlySet<string>,
): boolean {
  const target = headers["x-amz-target"];
  if (target !== undefined) {
    if (target !== "AmazonSQS.DeleteQueue" || !own.has(nameOf(queueUrlIn(body)))) return false;
    response.writeHead(400, { "content-type": "application/x-amz-json-1.0", "x-amzn-query-error": `${code};Sender` });
    response.end(JSON.stringify({ __type: "com.amazonaws.sqs#UnsupportedOperation", message }));
    return true;
  }
  const parameters = new URLSearchParams(`${url.split("?")[1] ?? ""}&${body}`);
  const named = parameters.get("QueueUrl") ?? url.split("?")[0];
  if (parameters.get("Action") !== "DeleteQueue" || !own.has(nameOf(named))) return false;
  const error = `<Error><Type>Sender</Type><Code>${code}</Code><Message>${message}</Message></Error>`;
  response.writeHead(400, { "content-type": "text/xml" });
  response.end(`<ErrorResponse xmlns="http://queue.amazonaws.com/doc/2012-11-05/">${error}</ErrorResponse>`);
  return true;
}

function queueUrlIn(body: Buffer): unknown {
  try {
    return (JSON.parse(body.toString()) as { QueueUrl?: unknown } | null)?.QueueUrl;
  } catch {
    return undefined;
  }
}

/** The last part of a queue's URL. */
const nameOf = (url: unknown): string =>
  String(url ?? "")
    .split("/")
    .at(-1) ?? "";
