import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from "aws-lambda";
import { createDirectClient } from "../../../src/direct/index.ts";

// A function of a user that submits without HTTP. It gets the other contestants' event, and reads only the task in it.

const offload = createDirectClient({ tenant: "acme", principal: "olga" });

export async function handler(event: APIGatewayProxyEventV2): Promise<APIGatewayProxyStructuredResultV2> {
  const { type, input } = JSON.parse(event.body ?? "{}");
  return { statusCode: 202, body: JSON.stringify(await offload.submit(type, input)) };
}
