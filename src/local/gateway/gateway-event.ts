import type { IncomingMessage } from "node:http";
import type { APIGatewayProxyEventV2 } from "aws-lambda";

/**
 * A request as API Gateway passes it to a function, without its body: header names in lower case, repeated headers
 * joined by commas, cookies apart.
 */
export function eventOf(request: IncomingMessage): APIGatewayProxyEventV2 {
  const { host, target } = targetOf(request.url ?? "/");
  const [rawPath, rawQueryString] = splitOnce(target, "?");
  const { cookie: cookies, ...rest } = request.headersDistinct;
  const headers: Record<string, string> = {};
  // Node's own headers leave out all but the first of some names, such as authorization.
  for (const [name, values = []] of Object.entries(rest)) headers[name] = values.join(",");
  if (host !== undefined) headers.host = host;
  const method = request.method ?? "GET";
  return {
    version: "2.0",
    routeKey: "$default",
    rawPath,
    rawQueryString,
    headers,
    ...(cookies !== undefined && { cookies: cookies.flatMap((one) => one.split(/; */)) }),
    isBase64Encoded: false,
    requestContext: {
      accountId: "000000000000",
      apiId: "local",
      domainName: "127.0.0.1",
      domainPrefix: "local",
      http: {
        method,
        path: rawPath,
        protocol: "HTTP/1.1",
        sourceIp: request.socket.remoteAddress ?? "127.0.0.1",
        userAgent: headers["user-agent"] ?? "",
      },
      requestId: "local",
      routeKey: "$default",
      stage: "$default",
      time: new Date().toISOString(),
      timeEpoch: Date.now(),
    },
  };
}

/**
 * Splits the target of a request. In its absolute form it names a host, which replaces the header (RFC 9112, section
 * 3.2.2).
 */
function targetOf(url: string): { host?: string; target: string } {
  const [, host, target = ""] = /^https?:\/\/([^/?#]*)(.*)$/is.exec(url) ?? [];
  if (host === undefined) return { target: url };
  return { host, target: target.startsWith("/") ? target : `/${target}` };
}

function splitOnce(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at === -1 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}
