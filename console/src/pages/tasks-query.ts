import { duration } from "../format.ts";

export type PageQuery = Readonly<Record<string, string>>;

/** Names of the query that the API and the page's URL share. */
const shared = [
  ...(["q", "status", "retrying", "type", "unique_key", "priority", "created_after", "created_before"] as const),
];

/** The filters of the page's URL. */
export const filterNames = [...shared, "tag"] as const;

const valuesOf = (query: PageQuery): [string, string][] =>
  shared.flatMap((name): [string, string][] => (query[name] ? [[name, query[name]]] : []));

/** Name and value of the tag. Undefined: the text is no `name=value`. */
function tagOf(text: string): [name: string, value: string] | undefined {
  const at = text.indexOf("=");
  return at < 1 ? undefined : [text.slice(0, at), text.slice(at + 1)];
}

/** A filter in the URL that no list can be read with. Undefined: there is none. */
export function faultOf({ tag, unique_key: key, type }: PageQuery): Error | undefined {
  if (tag && tagOf(tag) === undefined) return new Error(`The tag ${tag} is no name=value.`);
  return key && !type ? new Error("A unique key belongs to one type: choose the type, too.") : undefined;
}

/** The address of the task that has, or had last, a unique key: `~type:key`. */
export const isAddress = (text: string): boolean => /^~[^:]+:./.test(text);

/** True when an operation cannot have the filter: it has the ids of the tasks that are found. */
export const isOfIds = ({ q, unique_key: key }: PageQuery): boolean => Boolean(q || key);

/** The API's query of the page's URL. */
export function apiQuery(query: PageQuery): Record<string, string> {
  const [name, value] = tagOf(query.tag ?? "") ?? [];
  return { ...Object.fromEntries(valuesOf(query)), ...(value !== undefined && { [`tag.${name}`]: value }) };
}

/** The filter of an operation on all tasks that the page's URL finds, without its search and its key. */
export function filterOf(query: PageQuery): Record<string, unknown> {
  const { q: _, unique_key: __, retrying, ...given } = Object.fromEntries(valuesOf(query));
  const tag = tagOf(query.tag ?? "");
  return {
    ...given,
    ...(retrying !== undefined && { retrying: retrying === "true" }),
    ...(tag && { tags: Object.fromEntries([tag]) }),
  };
}

/** True when the list shows Offload's own tasks, too: asked for in the URL, or by a filter for their type. */
export const showsOwn = ({ own, type }: PageQuery): boolean => own === "shown" || type?.startsWith("offload.") === true;

/** A filter as a chip says it: name, verb, value. */
export interface Chip {
  name: string;
  words: string;
  value: string;
}

const words: Readonly<Record<string, string>> = {
  status: "Status is",
  type: "Type is",
  unique_key: "Key is",
  priority: "Tier is",
  tag: "Tag is",
  created_after: "Submitted after",
  created_before: "Submitted before",
};

/** The filters that are set, without the search, which has a field of its own. */
export const chipsOf = (query: PageQuery, timeText: (iso: string) => string): Chip[] =>
  filterNames.flatMap((name): Chip[] => {
    const value = query[name];
    if (!value || name === "q") return [];
    if (name === "retrying")
      return [{ name, words: "Waits for another attempt", value: value === "true" ? "yes" : "no" }];
    const isTime = name.startsWith("created_");
    return [{ name, words: words[name] ?? name, value: isTime ? timeText(value) : value }];
  });

/** Time from when a task could start until it started. An attempt after the first one has other waits. */
export function waitedText({
  attempts,
  created_at: created,
  run_at: due,
  started_at: started,
}: {
  attempts: number;
  created_at: string;
  run_at: string | null;
  started_at: string | null;
}): string {
  if (started === null || attempts > 1) return "–";
  const from = due !== null && due > created ? due : created;
  return duration(Math.max(0, Date.parse(started) - Date.parse(from)));
}
