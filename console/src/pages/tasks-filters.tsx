import { useEffect, useRef } from "preact/hooks";
import { statuses } from "../../../src/core/model/status.ts";
import { tiers } from "../../../src/core/model/tier.ts";
import { addShortcuts } from "../keyboard.ts";
import { ChoiceFilter, TextFilter, TimeFilter } from "../parts/filter.tsx";
import { changeQuery, go } from "../route.ts";
import { chosenTenant } from "../session.ts";
import { useTaskTypes } from "../task-types.ts";

/** Names of the query that the API and the page's URL share. */
const names = ["q", "status", "type", "priority", "created_after", "created_before"] as const;

type PageQuery = Readonly<Record<string, string>>;

const valuesOf = (query: PageQuery): [string, string][] =>
  names.flatMap((name): [string, string][] => (query[name] ? [[name, query[name]]] : []));

/** Name and value of the tag. Undefined: the text is no `name=value`. */
function tagOf(text: string): [name: string, value: string] | undefined {
  const at = text.indexOf("=");
  return at < 1 ? undefined : [text.slice(0, at), text.slice(at + 1)];
}

/** A tag in the URL that no list can be read with. Undefined: there is none. */
export const faultOf = ({ tag }: PageQuery): Error | undefined =>
  tag && tagOf(tag) === undefined ? new Error(`The tag ${tag} is no name=value.`) : undefined;

/** The API's query of the page's URL. */
export function apiQuery(query: PageQuery): Record<string, string> {
  const [name, value] = tagOf(query.tag ?? "") ?? [];
  return { ...Object.fromEntries(valuesOf(query)), ...(value !== undefined && { [`tag.${name}`]: value }) };
}

/** The filter of an operation on all tasks that the page's URL finds, without its search. */
export function filterOf(query: PageQuery): Record<string, unknown> {
  const { q: _, ...given } = Object.fromEntries(valuesOf(query));
  const tag = tagOf(query.tag ?? "");
  return { ...given, ...(tag && { tags: Object.fromEntries([tag]) }) };
}

/** The search and the filters. They are the page's URL. */
export function Filters({ query }: { query: PageQuery }) {
  const search = useRef<HTMLInputElement>(null);
  const types = useTaskTypes();
  useEffect(() => addShortcuts([{ key: "/", description: "search", run: () => search.current?.focus() }]), []);
  return (
    <search class="card">
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <label>
          Search
          <input
            ref={search}
            type="search"
            size={34}
            maxLength={128}
            placeholder="task id, correlation id, tag, error"
            value={query.q ?? ""}
            onChange={(event) => changeQuery({ q: event.currentTarget.value.trim() || undefined })}
          />
        </label>
        <details open={matchMedia("(min-width: 641px)").matches}>
          <summary>Filters</summary>
          <div class="filters">
            <ChoiceFilter name="status" label="Status" values={statuses} />
            <ChoiceFilter
              name="type"
              label="Type"
              values={types.value?.types.map(({ name }) => name) ?? (query.type ? [query.type] : [])}
            />
            <ChoiceFilter name="priority" label="Priority" values={tiers} />
            <TextFilter name="tag" label="Tag" size={16} placeholder="name=value" />
            <TimeFilter name="created_after" label="Submitted after" />
            <TimeFilter name="created_before" label="Submitted before" />
            <button type="button" class="quiet" onClick={() => go(["tasks"], { tenant: chosenTenant.value })}>
              Clear
            </button>
          </div>
        </details>
      </form>
    </search>
  );
}
