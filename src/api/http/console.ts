import { gzipSync } from "node:zlib";
import { Problem } from "../../core/model/problem.ts";
import type { Config } from "../../settings/config.ts";
import { type ApiPorts, apiOf } from "./api.ts";
import type { ApiResponse, Call } from "./call.ts";
import { etagOf, withEtag } from "./etag.ts";
import type { Router } from "./router.ts";

/** Sign-in at an OIDC issuer. */
export interface ConsoleSignIn {
  issuer: string;
  clientId: string;
  scope: string;
  /** Origins that the page calls in addition to the issuer's. */
  origins: readonly string[];
}

export interface ConsolePorts extends ApiPorts {
  /** Texts of the console's files, by their names. */
  files: ReadonlyMap<string, string>;
  version: string;
  /** Name of the deployment. */
  name: string;
  /** True on the local server. */
  local: boolean;
  /** URL of the WebSocket API. Undefined: the deployment has no push. */
  socketUrl: () => string | undefined;
  /** Undefined: users sign in with an API key only. */
  signIn: ConsoleSignIn | undefined;
  /** Origin of the files and large results to which the API redirects. Absent: the page can read none of them. */
  filesOrigin?: string;
}

/** A body, and the strong tag of these bytes. */
interface Sent {
  body: string | Uint8Array<ArrayBuffer>;
  etag: string;
}

interface File {
  type: string;
  caching: string;
  plain: Sent;
  /**
   * Compressed with the first request that accepts it, as no gateway does it. Undefined: too small to gain anything.
   */
  gzip: (() => Sent) | undefined;
}

const types: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml; charset=utf-8",
};

/** Name of a file that the console loads later. Another text of it has another name. */
const hashedName = /-[A-Z0-9]{8}\.(js|css)$/;

/** Smaller files are sent as they are. */
const leastGzipBytes = 1_024;

const page = "index.html";
const settingsFile = "config.json";

/**
 * Creates the app of the console: a page and its files, which need no token. The page calls the API with the token of
 * its user.
 */
export function consoleApi(ports: ConsolePorts): Router {
  const files = new Map([...ports.files].map(([name, text]) => [name, fileOf(name, text)]));
  const answer = (call: Call, name: string): ApiResponse => {
    const file = name === settingsFile ? settingsOf(ports) : files.get(name);
    if (file === undefined) throw new Problem("not_found", "The console has no such file.");
    // Also on a 304, whose headers replace those that the browser has stored.
    call.header("content-security-policy", contentSecurityPolicy(ports));
    call.header("cross-origin-opener-policy", "same-origin");
    call.header("cross-origin-resource-policy", "same-origin");
    call.header("cache-control", file.caching);
    if (file.gzip !== undefined) call.header("vary", "accept-encoding");
    const gzip = acceptsGzip(call.req.header("accept-encoding")) ? file.gzip?.() : undefined;
    const { body, etag } = gzip ?? file.plain;
    const response = withEtag(call, body, file.type, etag);
    // A 304 has no body, so it has no coding.
    if (gzip === undefined || response.status !== 200) return response;
    return { ...response, headers: { ...response.headers, "content-encoding": "gzip" } };
  };
  const readConsole = (call: Call) => answer(call, page);
  const readConsoleFile = (call: Call) => answer(call, call.req.params.file ?? "");
  const api = apiOf("console", ports, { readConsole, readConsoleFile });
  // In a gateway a step in braces also matches empty text.
  api.on("GET", "/console/", readConsole);
  return api;
}

function fileOf(name: string, text: string): File {
  const type = types[name.split(".").at(-1) ?? ""];
  if (type === undefined) throw new Error(`the console has the file ${name}, and no content type for it`);
  const caching = hashedName.test(name) ? "public, max-age=31536000, immutable" : "no-cache";
  let gzip: Sent | undefined;
  const compressed = () => {
    gzip ??= sent(new Uint8Array(gzipSync(text)));
    return gzip;
  };
  return { type, caching, plain: sent(text), gzip: text.length < leastGzipBytes ? undefined : compressed };
}

const sent = (body: Sent["body"]): Sent => ({ body, etag: etagOf(body) });

const acceptsGzip = (header = ""): boolean =>
  header.split(",").some((one) => /^\s*gzip\s*(;\s*q=(1|0\.0*[1-9])|$)/i.test(one));

/** The settings of this deployment for the page. They hold nothing secret. */
function settingsOf({ version, name, local, socketUrl, signIn }: ConsolePorts): File {
  const oidc = signIn && { issuer: signIn.issuer, client_id: signIn.clientId, scope: signIn.scope };
  const text = JSON.stringify({ version, name, local, push: socketUrl() !== undefined, oidc: oidc ?? null });
  return { type: "application/json", caching: "no-cache", plain: sent(text), gzip: undefined };
}

/** The page runs its own code only, calls this API and what the deployment names, and is shown in no frame. */
function contentSecurityPolicy({ socketUrl, signIn, filesOrigin }: ConsolePorts): string {
  const url = socketUrl();
  const issuer = signIn && [new URL(signIn.issuer).origin, ...signIn.origins];
  // `origin` of wss: is the URL's own, as of https:.
  const own = [url === undefined ? undefined : new URL(url).origin, filesOrigin];
  const reached = [...own.filter((origin) => origin !== undefined), ...(issuer ?? [])];
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    ["connect-src 'self'", ...new Set(reached)].join(" "),
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ].join("; ");
}

export const consoleSettingNames = [
  "version",
  "deployment",
  "localHealth",
  "jwtIssuer",
  "consoleClientId",
  "consoleScope",
  "consoleOrigins",
] as const;

/**
 * Reads from a function's settings what the page has to know of its deployment. Only the local server has
 * `localHealth`.
 * @throws Error when there is a client id, but no issuer
 */
export function consoleSettings(
  config: Config<(typeof consoleSettingNames)[number]>,
): Pick<ConsolePorts, "version" | "name" | "local" | "signIn" | "filesOrigin"> {
  const { version, deployment, localHealth, jwtIssuer, consoleClientId: clientId } = config;
  const local = Object.keys(localHealth).length > 0;
  const { s3_url: s3Url } = localHealth;
  const files = typeof s3Url === "string" ? { filesOrigin: new URL(s3Url).origin } : {};
  const about = { version, name: deployment ?? (local ? "local" : "offload"), local, ...files };
  if (clientId === undefined) return { ...about, signIn: undefined };
  if (jwtIssuer === undefined) {
    throw new Error(
      "OFFLOAD_CONSOLE_CLIENT_ID is set without OFFLOAD_JWT_ISSUER: set OFFLOAD_JWT_ISSUER to the URL of the issuer that knows the client",
    );
  }
  const { consoleScope: scope, consoleOrigins: origins } = config;
  return { ...about, signIn: { issuer: jwtIssuer, clientId, scope, origins } };
}
