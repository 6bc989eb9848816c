import { type BusEvent, envelopeFields } from "./bus-event.ts";

/** A path to a value of the event: `$.detail.object.key`, `$.resources[0]`, `$.detail["a b"]`. */
export type EventPath = `$.${string}`;

/** A text that is a path, and paths within a text. */
const wholePath = /^\$\./;
const pathsWithin = /<(\$\.[^<>]*)>/g;

const step = /\.([A-Za-z0-9_-]+)|\[(\d{1,9})\]|\["([^"\\]*)"\]/y;

/** The steps of a path. Undefined: it is not a path. */
function stepsOf(path: string): (string | number)[] | undefined {
  const steps: (string | number)[] = [];
  step.lastIndex = 1;
  while (step.lastIndex < path.length) {
    const [found, name, index, quoted] = step.exec(path) ?? [];
    if (found === undefined) return undefined;
    steps.push(index === undefined ? (name ?? quoted ?? "") : Number(index));
  }
  return (envelopeFields as readonly unknown[]).includes(steps[0]) ? steps : undefined;
}

/** The value at a path. Undefined: the event has none. */
function valueAt(event: BusEvent, path: string): unknown {
  let value: unknown = event;
  for (const one of stepsOf(path) ?? [""]) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, one)) return undefined;
    value = (value as Record<string | number, unknown>)[one];
  }
  return value;
}

/** The event has no usable value for a path of a trigger. */
export class PathMissing extends Error {
  static override readonly name: string = "PathMissing";
}

/** Replaces the paths of a text. A text that is only a path becomes the event's value, of any type. */
function fillText(text: string, event: BusEvent): unknown {
  if (wholePath.test(text)) {
    const value = valueAt(event, text);
    if (value === undefined) throw new PathMissing(`the event has no value at ${text}`);
    return value;
  }
  return text.replaceAll(pathsWithin, (_, path: string) => {
    const value = valueAt(event, path);
    if (["string", "number", "boolean"].includes(typeof value)) return String(value);
    throw new PathMissing(`the event has no text, number, true or false at ${path}, which is part of a text`);
  });
}

/**
 * Replaces the paths in a JSON value by values of an event.
 * @throws PathMissing
 */
export function fill(template: unknown, event: BusEvent): unknown {
  if (typeof template === "string") return fillText(template, event);
  if (Array.isArray(template)) return template.map((one) => fill(one, event));
  if (typeof template !== "object" || template === null) return template;
  return Object.fromEntries(Object.entries(template).map(([name, one]) => [name, fill(one, event)]));
}

/** Fills a text, such as a tag's. Numbers, true and false become texts. @throws PathMissing */
export function fillAsText(template: string, event: BusEvent): string {
  const value = fillText(template, event);
  if (["string", "number", "boolean"].includes(typeof value)) return String(value);
  throw new PathMissing(`the event has no text, number, true or false at ${template}`);
}

/** A text with paths, at its place in a template. */
export interface TemplateText {
  place: readonly string[];
  /** The first of its paths that is not valid. */
  wrongPath?: string;
}

/** Finds the texts of a template that have paths. */
export function templateTexts(template: unknown, place: readonly string[] = []): TemplateText[] {
  if (typeof template === "string") {
    const paths = wholePath.test(template)
      ? [template]
      : [...template.matchAll(pathsWithin)].map(([, path = ""]) => path);
    if (paths.length === 0) return [];
    const wrongPath = paths.find((path) => stepsOf(path) === undefined);
    return [{ place, ...(wrongPath === undefined ? {} : { wrongPath }) }];
  }
  if (typeof template !== "object" || template === null) return [];
  return Object.entries(template).flatMap(([name, one]) => templateTexts(one, [...place, name]));
}
