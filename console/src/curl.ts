import type { Query } from "../../src/client/transport.ts";
import { chosenTenant } from "./session.ts";

/** A request to the API. */
export interface ApiRequest {
  method?: "GET" | "POST" | "PATCH" | "DELETE";
  path: string;
  query?: Query;
  body?: unknown;
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** The `curl` of a request. The shell takes the key from the variable OFFLOAD_KEY: the page never shows it. */
export function curlOf({ method = "GET", path, query = {}, body }: ApiRequest): string {
  const given = Object.entries({ ...query, tenant: chosenTenant.value }).filter(([, value]) => value !== undefined);
  const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  const url = `${location.origin}${path}${search === "" ? "" : `?${search}`}`;
  return [
    "curl",
    ...(method === "GET" ? [] : [`-X ${method}`]),
    '-H "Authorization: Bearer $OFFLOAD_KEY"',
    ...(body === undefined ? [] : ["-H 'Content-Type: application/json'", `-d ${quoted(JSON.stringify(body))}`]),
    quoted(url),
  ].join(" ");
}
