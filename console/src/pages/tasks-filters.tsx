import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { statuses, tiers } from "../../../src/core/model/words.ts";
import { localTime } from "../format.ts";
import { addShortcuts } from "../keyboard.ts";
import { ChoiceFilter, TextFilter, TimeFilter } from "../parts/filter.tsx";
import { Icon } from "../parts/icon.tsx";
import { Text } from "../parts/text.tsx";
import { changeQuery, go } from "../route.ts";
import { chosenTenant } from "../session.ts";
import { useTaskTypes } from "../task-types.ts";
import { type Chip, chipsOf, isAddress, type PageQuery } from "./tasks-query.ts";
import { Views } from "./tasks-views.tsx";

/** The search, the filters as chips in one line, and the saved ones above them. They are the page's URL. */
export function Filters({ query }: { query: PageQuery }) {
  const field = useRef<HTMLInputElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const open = useSignal(false);
  const toggle = () => {
    open.value = !open.value;
    if (!open.value) button.current?.focus();
  };
  useEffect(
    () =>
      addShortcuts([
        { key: "/", description: "search", run: () => field.current?.focus() },
        { key: "f", description: "filter", run: toggle },
      ]),
    [],
  );
  const chips = chipsOf(query, localTime);
  return (
    <search class="filter-line">
      <Views />
      <form class="chips" onSubmit={(event) => event.preventDefault()}>
        <input
          ref={field}
          type="search"
          aria-label="Search"
          size={30}
          maxLength={128}
          placeholder="Id, tag, error, or ~type:key"
          value={query.q ?? ""}
          onChange={(event) => search(event.currentTarget.value.trim())}
        />
        {chips.map((chip) => (
          <ChipOf key={chip.name} of={chip} />
        ))}
        <button ref={button} type="button" class="quiet" aria-expanded={open.value} onClick={toggle}>
          Filter <kbd>F</kbd>
        </button>
        {(chips.length > 0 || query.q) && (
          <button type="button" class="quiet" onClick={() => go(["tasks"], { tenant: chosenTenant.value })}>
            Clear
          </button>
        )}
      </form>
      {open.value && <Fields query={query} onClose={toggle} />}
    </search>
  );
}

/** Searches, or opens the task of a unique key. */
function search(text: string): void {
  if (isAddress(text)) go(["tasks", text], { tenant: chosenTenant.value });
  else changeQuery({ q: text || undefined });
}

const ChipOf = ({ of: { name, words, value } }: { of: Chip }) => (
  <span class="chip">
    {words}{" "}
    <strong>
      <Text of={value} most={60} />
    </strong>
    <button
      type="button"
      class="quiet"
      aria-label={`Remove: ${words} ${value}`}
      onClick={() => changeQuery({ [name]: undefined })}
    >
      <Icon of="x" />
    </button>
  </span>
);

/** All filters. A change of one counts at once. */
function Fields({ query, onClose }: { query: PageQuery; onClose: () => void }) {
  const types = useTaskTypes();
  const first = useRef<HTMLFieldSetElement>(null);
  useEffect(() => {
    first.current?.querySelector("select")?.focus();
    return addShortcuts([{ key: "Escape", description: "close the filters", run: onClose }]);
  }, []);
  return (
    <fieldset ref={first} class="card filter-fields">
      <legend class="for-readers">Filters</legend>
      <ChoiceFilter name="status" label="Status" values={statuses} />
      <ChoiceFilter
        name="type"
        label="Type"
        values={types.value?.types.map(({ name }) => name) ?? (query.type ? [query.type] : [])}
      />
      <TextFilter name="unique_key" label="Unique key" size={16} />
      <ChoiceFilter name="priority" label="Priority" values={tiers} />
      <TextFilter name="tag" label="Tag" size={16} placeholder="name=value" />
      <TimeFilter name="created_after" label="Submitted after" />
      <TimeFilter name="created_before" label="Submitted before" />
      <button type="button" onClick={onClose}>
        Done
      </button>
    </fieldset>
  );
}
