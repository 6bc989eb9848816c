import { type ApiResponse, Call, methodOf } from "./call.ts";
import type { GatewayEvent } from "./event.ts";
import { fits, isOpenStep } from "./path-steps.ts";

/** Answers the requests of one route. */
export type RouteHandler = (call: Call) => ApiResponse | Promise<ApiResponse>;

interface OpenRoute {
  method: string;
  steps: readonly string[];
  handler: RouteHandler;
}

/** The common parts of all answers. */
export interface Around {
  /** Answers a request with its route's handler, which may throw. */
  answer(call: Call, handler: RouteHandler): Promise<ApiResponse>;
  /**
   * Answers a request without a route.
   * @param methods Methods of the router's own routes with that path.
   */
  missing(call: Call, methods: readonly string[]): ApiResponse;
}

/** Routes of methods and paths, each with its handler. A path is compared step by step, with capitals. */
export class Router {
  readonly #around: Around;
  /** Handlers by method, by paths without braces. */
  readonly #exact = new Map<string, Map<string, RouteHandler>>();
  /** Routes with braces, those with fewer of them first. */
  readonly #open: OpenRoute[] = [];

  constructor(around: Around) {
    this.#around = around;
  }

  /** @param path A step in braces, such as `{task_id}`, is any text that is not empty. */
  on(method: string, path: string, handler: RouteHandler): void {
    if (path.includes("{")) {
      this.#open.push({ method, steps: path.split("/"), handler });
      this.#open.sort((a, b) => openSteps(a) - openSteps(b));
    } else {
      const methods = this.#exact.get(path) ?? new Map<string, RouteHandler>();
      this.#exact.set(path, methods.set(method, handler));
    }
  }

  /** @param path The request's path, in which a step may be encoded. */
  answer(event: GatewayEvent, path = event.rawPath): Promise<ApiResponse> {
    const method = methodOf(event);
    const whole = decoded(path.replaceAll("%25", "%2525"), decodeURI);
    const exact = this.#exact.get(whole);
    if (exact !== undefined) return this.#answer(new Call(event, whole, {}), exact.get(method), [...exact.keys()]);
    const given = whole.split("/");
    const found = this.#open.filter(({ steps }) => fits(steps, given));
    const route = found.find((one) => one.method === method);
    const call = new Call(event, whole, route === undefined ? {} : paramsOf(route.steps, given));
    return this.#answer(
      call,
      route?.handler,
      found.map((one) => one.method),
    );
  }

  #answer(call: Call, handler: RouteHandler | undefined, methods: readonly string[]): Promise<ApiResponse> {
    return this.#around.answer(call, handler ?? (() => this.#around.missing(call, methods)));
  }
}

const openSteps = ({ steps }: OpenRoute): number => steps.filter(isOpenStep).length;

function paramsOf(steps: readonly string[], given: readonly string[]): Record<string, string> {
  const params: Record<string, string> = {};
  for (const [index, step] of steps.entries()) {
    if (isOpenStep(step)) params[step.slice(1, -1)] = decoded(given[index] ?? "", decodeURIComponent);
  }
  return params;
}

/** Decodes a text. A text that is not encoded well stays as it is: no route accepts it, or it names nothing. */
function decoded(text: string, decode: (text: string) => string): string {
  if (!text.includes("%")) return text;
  try {
    return decode(text);
  } catch {
    return text;
  }
}
