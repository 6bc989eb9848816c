import type * as z from "zod";
import type { Role } from "../core/model/identity.ts";
import type { ProblemCode } from "../core/model/problem.ts";
import type { AnyRouteName } from "../http/routes.ts";
import type { Json } from "./json-schema.ts";
import type { HeaderName, ParameterName } from "./parts.ts";

/** A response that is not a problem. */
export interface Answer {
  description: string;
  /**
   * A named schema of the JSON body. `result`: the result of a task, JSON or a file. `page`: a page for people. Absent:
   * there is no body.
   */
  body?: z.ZodType | "result" | "page";
  /** Headers of every such response. */
  headers?: readonly HeaderName[];
  /** Headers that some of these responses have. */
  optionalHeaders?: readonly HeaderName[];
  /** Routes that take an id of the body as the parameter of the same name. */
  links?: { id: "task_id" | "schedule_id" | "operation_id"; to: readonly AnyRouteName[] };
}

/** The description of one route. Its method, path and security are those of the table of routes. */
export interface Operation {
  tag: "tasks" | "schedules" | "dead letters" | "operations" | "webhooks" | "flow" | "tenants" | "service";
  summary: string;
  description?: string;
  /** The lowest role that the route accepts. Default: submitter. */
  role?: Role;
  query?: z.ZodObject;
  /** Parameters in addition to those of the path, of `query`, and of all routes. */
  parameters?: readonly ParameterName[];
  /** A named schema of the JSON body, or `submit` for the submits of all task types. */
  body?: z.ZodType | "submit";
  /** True when a request without a body is accepted, too. */
  bodyOptional?: true;
  /** Schema of the parts of a `multipart/form-data` body, which is accepted in place of JSON. */
  form?: Json;
  /** An example of the body. */
  example?: unknown;
  answers: Readonly<Record<number, Answer>>;
  /** Problems in addition to those of all routes. */
  problems?: readonly ProblemCode[];
}
