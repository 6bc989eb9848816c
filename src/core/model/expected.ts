import type * as z from "zod";
import { Problem } from "./problem.ts";

/**
 * Runs a step that reads a request's body. When the body is missing, or one of its fields is missing or unknown, the
 * detail of the problem also has the expected body.
 * @param given The body's schema, or a function that loads it.
 */
export async function expecting<T>(
  given: z.core.$ZodType | (() => Promise<z.core.$ZodType>),
  read: () => T | Promise<T>,
): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof Problem) || !isAboutFields(error)) throw error;
    const { code, detail, options } = error;
    const schema = typeof given === "function" ? await given() : given;
    throw new Problem(code, `${detail.replace(/\.$/, "")}; expected ${formOf(schema)}`.slice(0, 500), options);
  }
}

/**
 * True for a body that is not JSON, and for missing and unknown fields of its top level. A task's input has its own
 * schema.
 */
function isAboutFields({ code, options: { errors = [] } }: Problem): boolean {
  if (code === "malformed_request" || code === "unsupported_media_type") return true;
  return errors.some(
    ({ path, message }) =>
      path === "" ||
      (/^\/[^/]+$/.test(path) && path !== "/input" && /^unknown field$|received undefined$/.test(message)),
  );
}

const isTransform = (schema: z.core.$ZodType): boolean => schema._zod.def.type === "transform";

/** A schema in short: `{ task_ids?: array, per_second?: 1..100 }`. Fields of nested objects are left out. */
export function formOf(schema: z.core.$ZodType, nested = false): string {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  switch (def.type) {
    case "object": {
      if (nested) return "object";
      const fields = Object.entries(def.shape).map(
        ([name, field]) => `${name}${field._zod.optin === undefined ? "" : "?"}: ${formOf(field, true)}`,
      );
      return fields.length === 0 ? "{}" : `{ ${fields.join(", ")} }`;
    }
    case "optional":
    case "default":
    case "nullable":
      return formOf(def.innerType, nested);
    case "pipe":
      return formOf(isTransform(def.in) ? def.out : def.in, nested);
    case "union":
      return def.options.map((option) => formOf(option, nested)).join("|");
    case "literal":
      return def.values.join("|");
    case "enum":
      return Object.values(def.entries).join("|");
    case "number": {
      const { minValue, maxValue } = schema as z.ZodNumber;
      return `${minValue}..${maxValue}`;
    }
    case "unknown":
      return "any JSON";
    case "record":
      return "object";
    default:
      return def.type;
  }
}
