import { signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { Text } from "../parts/text.tsx";
import { changeQuery, href, route } from "../route.ts";
import { chosenTenant } from "../session.ts";
import { setting, typing } from "../signals.ts";
import { filterNames, type PageQuery } from "./tasks-query.ts";

/** A filter with a name. Its link has all of it, so a colleague can open what this browser has saved. */
interface View {
  name: string;
  query: PageQuery;
}

const given: readonly View[] = [
  { name: "All", query: {} },
  { name: "Running", query: { status: "processing" } },
  { name: "Waiting", query: { status: "pending" } },
  { name: "Retrying", query: { status: "pending", retrying: "true" } },
  { name: "Failed", query: { status: "failed" } },
  { name: "Later", query: { status: "scheduled" } },
];

/** The place of the views in the storage of this browser, and their number at most. */
const storedName = "offload.views";
const mostViews = 20;

/** The views in the browser's storage, as far as they can be read. */
function stored(): View[] {
  try {
    const all: unknown = JSON.parse(localStorage.getItem(storedName) ?? "[]");
    const isView = (one: Partial<View> | null): one is View =>
      typeof one?.name === "string" && typeof one.query === "object" && one.query !== null;
    return Array.isArray(all) ? all.filter(isView).map(({ name, query }) => ({ name, query: partOf(query) })) : [];
  } catch {
    return [];
  }
}

const own = signal<readonly View[]>(stored());

function keep(views: readonly View[]): void {
  own.value = views.slice(-mostViews);
  localStorage.setItem(storedName, JSON.stringify(own.value));
}

/** The filters of a URL, without its tenant, its name and all else. */
const partOf = (query: PageQuery): PageQuery =>
  Object.fromEntries(filterNames.flatMap((name) => (typeof query[name] === "string" ? [[name, query[name]]] : [])));

const isSame = (one: PageQuery, other: PageQuery): boolean =>
  filterNames.every((name) => (one[name] ?? "") === (other[name] ?? ""));

/** Named filters as links. The pressed one is that of the URL. */
export function Views() {
  const { query } = route.value;
  const all = [...given, ...own.value];
  const named = query.view;
  const isShared = named !== undefined && !all.some((view) => view.name === named);
  const shown = isShared ? [...all, { name: named, query: partOf(query) }] : all;
  const current =
    shown.find((view) => view.name === named && isSame(view.query, query)) ??
    shown.find((view) => isSame(view.query, query));
  const isOwn = current !== undefined && own.value.includes(current);
  return (
    <nav class="views" aria-label="Saved filters">
      {shown.map((view) => (
        <a key={view.name} href={linkTo(view)} aria-current={view === current ? "page" : undefined}>
          <Text of={view.name} most={40} />
        </a>
      ))}
      {isOwn && (
        <button
          type="button"
          class="quiet small"
          aria-label={`Forget the filter ${current.name}`}
          onClick={() => {
            keep(own.value.filter((view) => view !== current));
            changeQuery({ view: undefined });
          }}
        >
          Forget
        </button>
      )}
      {(current === undefined || isShared) && <Save query={query} name={isShared ? named : ""} />}
    </nav>
  );
}

const linkTo = ({ name, query }: View): string =>
  href(["tasks"], {
    ...query,
    view: given.some((view) => view.name === name) ? undefined : name,
    tenant: chosenTenant.value,
  });

function Save({ query, name }: { query: PageQuery; name: string }) {
  const open = useSignal(false);
  const given = useSignal(name);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), [open.value]);
  if (!open.value) {
    return (
      <button type="button" class="quiet small" onClick={setting(open, true)}>
        + Save this filter
      </button>
    );
  }
  return (
    <form
      class="save-view"
      onSubmit={(event) => {
        event.preventDefault();
        const view = { name: given.value.trim(), query: partOf(query) };
        if (view.name === "") return;
        keep([...own.value.filter((one) => one.name !== view.name), view]);
        changeQuery({ view: view.name });
        open.value = false;
      }}
    >
      <input
        aria-label="Name of the filter"
        placeholder="Name"
        maxLength={40}
        required
        size={16}
        value={given.value}
        onInput={typing(given)}
        ref={field}
      />
      <button type="submit" class="small">
        Save
      </button>
      <button type="button" class="quiet small" onClick={setting(open, false)}>
        Do not save
      </button>
    </form>
  );
}
