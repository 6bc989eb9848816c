import type * as z from "zod";
import type { ProblemCode } from "../../core/model/problem.ts";
import type { Role } from "../../core/model/words.ts";
import type { Meaning, Tag, Text } from "../acts/act.ts";
import type { AnyRouteName } from "../http/routes.ts";
import type { Json } from "./json-schema.ts";
import type { HeaderName, ParameterName } from "./parts.ts";

/** A response that is not a problem. */
export interface Answer {
  description: string;
  /**
   * Name of the schema of the JSON body. `result`: the result of a task, JSON or a file. `page`: a page for people.
   * Absent: there is no body.
   */
  body?: string;
  /** Headers of every such response. */
  headers?: readonly HeaderName[];
  /** Headers that some of these responses have. */
  optionalHeaders?: readonly HeaderName[];
  /** Routes that take an id of the body as the parameter of the same name. */
  links?: { id: "task_id" | "schedule_id" | "operation_id"; to: readonly AnyRouteName[] };
}

/** The requests of a route, and the role that they need. Method, path and security are those of the table of routes. */
interface Taken {
  summary: string;
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
}

/** The description of a route that is no act. */
export interface RouteText extends Taken, Pick<Text, "description"> {
  /** Answers by status, as those of an act, or whole. */
  answers: Text["answers"] | Readonly<Record<number, Meaning | string | Answer>>;
  /** Problems in addition to those that follow from the path, the query and the body. */
  problems?: readonly ProblemCode[];
}

/** The whole description of a route. */
export interface Description extends Taken {
  tag: Tag;
  description?: string;
  answers: Readonly<Record<number, Answer>>;
  problems: readonly ProblemCode[];
}
