import { handle, type LambdaEvent } from "hono/aws-lambda";
import type { Api } from "./api.ts";

type Handler = ReturnType<typeof handle>;

/** What of a gateway's event decides how a request can be spoken of. */
interface Spoken {
  body?: string | null | undefined;
  requestContext: { http: { method: string } };
}

/** Methods that no `Request` can have. They get what any method gets that a route does not know. */
const unspeakable = new Set(["TRACE", "TRACK", "CONNECT"]);

/** The Lambda handler of an app, for every event that a gateway can hand over: its answers are the app's own, problems included. */
export function serve(api: Api): Handler {
  loadFetch();
  const inner = handle(api);
  return ((event: LambdaEvent & Spoken, context) => inner(speakable(event), context)) as Handler;
}

/**
 * Makes Node load its Fetch classes, which it does for the first one made: at a function's start, as Lambda gives that more
 * CPU than a request, and nobody waits yet.
 */
function loadFetch(): void {
  void new Request("http://localhost/");
}

/** The same request in terms of the Fetch standard, which knows neither a body of a GET nor some methods. */
function speakable<Event extends LambdaEvent & Spoken>(event: Event): Event {
  const { http } = event.requestContext;
  const bodiless = http.method === "GET" || http.method === "HEAD";
  if (!bodiless && !unspeakable.has(http.method)) return event;
  const method = bodiless ? http.method : "OPTIONS";
  return { ...event, body: null, requestContext: { ...event.requestContext, http: { ...http, method } } };
}
