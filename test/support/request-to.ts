import type { AuthorizerContext, GatewayEvent } from "../../src/api/http/event.ts";
import type { Router } from "../../src/api/http/router.ts";
import { serve } from "../../src/api/http/serve.ts";

/**
 * Sends a request to a router as API Gateway does, without a port.
 * @param path With its query.
 * @param authorizer The authorizer's answer. Default: nobody.
 */
export async function requestTo(
  router: Router,
  path: string,
  init: RequestInit = {},
  authorizer: AuthorizerContext = {},
): Promise<Response> {
  const request = new Request(new URL(path, "https://api.test"), init);
  const { pathname, search } = new URL(request.url);
  const event: GatewayEvent = {
    rawPath: pathname,
    rawQueryString: search.slice(1),
    headers: Object.fromEntries(request.headers),
    body: Buffer.from(await request.arrayBuffer()).toString("base64"),
    isBase64Encoded: true,
    requestContext: {
      domainName: "api.test",
      http: { method: request.method },
      authorizer: { lambda: authorizer },
    },
  };
  const answer = await serve(router)(event);
  const isWithout = request.method === "HEAD" || [204, 304].includes(answer.statusCode);
  const body = isWithout ? null : Buffer.from(answer.body, answer.isBase64Encoded ? "base64" : "utf8");
  return new Response(body, { status: answer.statusCode, headers: answer.headers });
}
