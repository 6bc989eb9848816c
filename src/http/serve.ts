import { handle, type LambdaEvent } from "hono/aws-lambda";
import type { Api } from "./api.ts";

type Handler = ReturnType<typeof handle>;

/** The method and body of a gateway's event. */
interface MethodAndBody {
  body?: string | null | undefined;
  requestContext: { http: { method: string } };
}

/** Methods that a Fetch `Request` cannot have. They are answered like any method that a route does not support. */
const forbiddenMethods = new Set(["TRACE", "TRACK", "CONNECT"]);

/** Returns the Lambda handler of an app. It accepts every event that a gateway can send; the app answers all of them. */
export function serve(api: Api): Handler {
  loadFetch();
  const inner = handle(api);
  return ((event: LambdaEvent & MethodAndBody, context) => inner(fetchable(event), context)) as Handler;
}

/**
 * Makes Node load its Fetch classes, which it does when the first one is used. This happens at the function's start, when
 * Lambda provides more CPU than for a request, so that the first request is faster.
 */
function loadFetch(): void {
  void new Request("http://localhost/");
}

/** Returns the event as the Fetch standard allows it: without a body for GET and HEAD, and without the forbidden methods. */
function fetchable<Event extends LambdaEvent & MethodAndBody>(event: Event): Event {
  const { http } = event.requestContext;
  const bodiless = http.method === "GET" || http.method === "HEAD";
  if (!bodiless && !forbiddenMethods.has(http.method)) return event;
  const method = bodiless ? http.method : "OPTIONS";
  return { ...event, body: null, requestContext: { ...event.requestContext, http: { ...http, method } } };
}
