import { Problem } from "./problem.ts";

/** A fault in one field of a request. @param field its place, such as `unique` or `callback/url` */
export const fieldProblem = (field: string, message: string): Problem =>
  new Problem("invalid_input", `${field.replaceAll("/", ".")}: ${message}.`, {
    errors: [{ path: `/${field}`, message }],
  });
