import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { TaskView } from "../../src/core/model/task-view.ts";
import { TaskStatus, WhatHappens } from "./pages/task-state.tsx";
import { type Choice, choicesFor, leastSearched } from "./palette-data.ts";
import { Icon, isIcon } from "./parts/icon.tsx";
import { Text } from "./parts/text.tsx";
import { api, chosenTenant, hrefOf, may, mayChange, tenant } from "./session.ts";
import { useTaskTypes } from "./task-types.ts";

/** Time after the last key until tasks are searched, in milliseconds. */
const restMs = 200;

/** Tasks that are shown. More are in the list of tasks. */
const mostTasks = 5;

export interface PaletteProps {
  pages: readonly { path: string; title: string }[];
  onClose: () => void;
}

/** The search from everywhere: tasks, pages, types and what one can begin. Arrows choose, Enter opens. */
export function Palette({ pages, onClose }: PaletteProps) {
  const typed = useSignal("");
  const chosen = useSignal(0);
  const text = typed.value.trim();
  const found = useFound(text);
  const types = useTaskTypes();
  const dialog = useRef<HTMLDialogElement>(null);
  useModal(dialog);
  const known = {
    pages,
    types: types.value?.types.map(({ name }) => name) ?? [],
    mayChange: mayChange(),
    mayOperate: may("viewer"),
    tenant: chosenTenant.value,
  };
  const groups = choicesFor(text, known, found, hrefOf);
  const choices = groups.flatMap(({ choices: of }) => of);
  const current = choices[Math.min(chosen.value, choices.length - 1)];
  const open = ({ place }: Choice) => {
    onClose();
    location.hash = place;
  };
  const keyed = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined || choices.length === 0) return;
    event.preventDefault();
    chosen.value = (Math.min(chosen.value, choices.length - 1) + step + choices.length) % choices.length;
  };
  return (
    <dialog ref={dialog} class="palette" aria-label="Search everything" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (current !== undefined) open(current);
        }}
      >
        <Icon of="search" />
        <input
          type="text"
          role="combobox"
          aria-label="Search everything"
          aria-expanded="true"
          aria-autocomplete="list"
          aria-controls="palette-list"
          aria-activedescendant={current && idOf(current)}
          autocomplete="off"
          spellcheck={false}
          maxLength={128}
          placeholder="Id, tag, error, type, page or ~type:key"
          value={typed.value}
          onInput={({ currentTarget }) => {
            typed.value = currentTarget.value;
            chosen.value = 0;
          }}
          onKeyDown={keyed}
        />
        <button type="button" class="quiet" onClick={onClose}>
          <kbd>Esc</kbd>
          <span class="for-readers"> closes the search</span>
        </button>
      </form>
      <div id="palette-list" role="listbox" aria-label="Found">
        {groups.map(({ title, choices: of }) => (
          <div key={title} role="group" aria-label={title}>
            <p class="nav-head" aria-hidden="true">
              <Text of={title} most={60} />
            </p>
            {of.map((choice) => (
              <Line key={choice.id} of={choice} isCurrent={choice === current} onOpen={() => open(choice)} />
            ))}
          </div>
        ))}
        {choices.length === 0 && <p class="nothing">Nothing has this name.</p>}
      </div>
    </dialog>
  );
}

const idOf = ({ id }: Choice): string => `palette-${id}`;

interface LineProps {
  of: Choice;
  isCurrent: boolean;
  onOpen: () => void;
}

function Line({ of, isCurrent, onOpen }: LineProps) {
  const line = useRef<HTMLAnchorElement>(null);
  useEffect(() => {
    if (isCurrent) line.current?.scrollIntoView({ block: "nearest" });
  }, [isCurrent]);
  return (
    <a
      ref={line}
      id={idOf(of)}
      role="option"
      tabIndex={-1}
      aria-selected={isCurrent}
      href={of.place}
      onClick={(event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        onOpen();
      }}
    >
      {of.task === undefined ? isIcon(of.icon) && <Icon of={of.icon} /> : <TaskStatus of={of.task} />}
      <span class="named">
        <Text of={of.name} most={140} />{" "}
        {of.about && (
          <span class="muted">
            <Text of={of.about} most={60} />
          </span>
        )}
      </span>
      {of.task !== undefined && (
        <span class="muted what">
          <WhatHappens of={of.task} />
        </span>
      )}
    </a>
  );
}

/** The first tasks that a search finds, once the typing rests. An answer for an earlier text is dropped. */
function useFound(text: string): readonly TaskView[] {
  const found = useSignal<{ of: string; tasks: readonly TaskView[] }>({ of: "", tasks: [] });
  useEffect(() => {
    if (text.length < leastSearched) return;
    const ended = new AbortController();
    const read = async () => {
      const query = { q: text, limit: mostTasks };
      const { tasks } = await api.get<{ tasks: TaskView[] }>("/tasks", query, { signal: ended.signal });
      found.value = { of: text, tasks };
    };
    // What else the palette offers is there without the answer.
    const timer = setTimeout(() => read().catch(() => {}), restMs);
    return () => {
      clearTimeout(timer);
      ended.abort();
    };
  }, [text, tenant.value]);
  return found.value.of === text ? found.value.tasks : [];
}

/** Opens the dialog at once, as the next key is meant for it, and gives the focus back afterwards. */
function useModal(dialog: { current: HTMLDialogElement | null }): void {
  useLayoutEffect(() => {
    const opener = document.activeElement;
    dialog.current?.showModal();
    return () =>
      requestAnimationFrame(() => {
        if (document.activeElement === document.body && opener instanceof HTMLElement) opener.focus();
      });
  }, []);
}
