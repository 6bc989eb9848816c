import { signal } from "@preact/signals";

/** A place in the console. It is in the URL's fragment, which browsers do not send: `#/tasks?status=failed`. */
export interface Route {
  /** Steps of the path, decoded: `["tasks", "<task id>"]`. Empty: the first page. */
  steps: string[];
  query: Readonly<Record<string, string>>;
}

/** Values of a query by name. Undefined and empty values are left out. */
export type QueryValues = Readonly<Record<string, string | number | undefined>>;

/** The place that is shown. */
export const route = signal<Route>(parse(location.hash));

addEventListener("hashchange", () => {
  route.value = parse(location.hash);
});

function parse(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const steps = path.split("/").filter((step) => step !== "");
  return { steps: steps.map(decoded), query: Object.fromEntries(new URLSearchParams(query)) };
}

/** A link that somebody has cut or changed by hand may have a broken escape. */
function decoded(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}

/** The link to a place. */
export function href(steps: readonly string[], query: QueryValues = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return `#/${steps.map(encodeURIComponent).join("/")}${text === "" ? "" : `?${text}`}`;
}

/** Goes to a place, which becomes a new entry of the browser's history. */
export function go(steps: readonly string[], query: QueryValues = {}): void {
  const hash = href(steps, query);
  if (hash !== location.hash) history.pushState(null, "", hash);
  route.value = parse(hash);
}

/** Shows the place of a fragment at a path of the page, in place of the present entry of the browser's history. */
export function replaceWith(path: string, hash: string): void {
  history.replaceState(null, "", `${path}${hash}`);
  route.value = parse(location.hash);
}

/** Changes the query of the place that is shown. Back leads to the query before. */
export function changeQuery(changes: QueryValues): void {
  const { steps, query } = route.value;
  go(steps, { ...query, ...changes });
}
