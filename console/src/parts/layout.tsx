import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { ProblemError } from "../../../src/client/errors.ts";
import type { Loaded } from "../load.ts";
import { config } from "../session.ts";
import { Text } from "./text.tsx";

/** A page: its heading gets the focus when the page is opened, so that screen readers say where they are. */
export function Page({
  title,
  about,
  state,
  actions,
  children,
}: {
  title: string;
  /** Beside the title. */
  about?: ComponentChildren;
  /** Before the title in the window's: what is wrong, or how many there are. */
  state?: string | undefined;
  actions?: ComponentChildren;
  children: ComponentChildren;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    heading.current?.focus({ preventScroll: true });
  }, [title]);
  const whole = [state, title, ["Offload", config.value?.name].filter(Boolean).join(" ")].filter(Boolean).join(" · ");
  useEffect(() => {
    document.title = whole;
  }, [whole]);
  return (
    <>
      <header class="page-head">
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        {about !== undefined && <p class="about">{about}</p>}
        <div class="actions">{actions}</div>
      </header>
      <div class="page">{children}</div>
    </>
  );
}

/** A part of a page with a heading. */
export function Section({
  title,
  actions,
  children,
}: {
  title: string;
  actions?: ComponentChildren;
  children: ComponentChildren;
}) {
  return (
    <section class="part">
      <header class="part-head">
        <h2>{title}</h2>
        <div class="actions">{actions}</div>
      </header>
      <div class="card">{children}</div>
    </section>
  );
}

/** An error of the API, in its own words. */
export function Failure({ error }: { error: Error }) {
  const faults = error instanceof ProblemError ? error.errors : [];
  return (
    <div class="failure" role="alert">
      <Text of={error.message} most={1_000} />
      {faults.length > 0 && (
        <ul>
          {faults.slice(0, 20).map(({ path, message }) => (
            <li key={`${path}${message}`}>
              <code>{path}</code> {message}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** The words until an answer is there. */
export const Loading = () => (
  <p class="muted" role="status">
    Loading …
  </p>
);

/** The answer of a `useLoad`, once it is there. An error of a later request stands above the last answer. */
export function Answer<T>({ of, children }: { of: Loaded<T>; children: (value: T) => ComponentChildren }) {
  return (
    <>
      {of.error !== undefined && <Failure error={of.error} />}
      {of.value !== undefined && children(of.value)}
      {of.value === undefined && of.error === undefined && <Loading />}
    </>
  );
}

/** The button that reads what is shown once more. */
export const ReadAgain = ({ of }: { of: { reload: () => void } }) => (
  <button type="button" onClick={of.reload}>
    Read again
  </button>
);

/** The words for an empty list. */
export const Nothing = ({ children }: { children: ComponentChildren }) => <p class="nothing">{children}</p>;

/** Names and values. */
export function Facts({
  of,
}: {
  of: readonly (readonly [name: string, value: ComponentChildren] | undefined | false)[];
}) {
  return (
    <dl class="facts">
      {of.map(
        (fact) =>
          fact && (
            <div key={fact[0]}>
              <dt>{fact[0]}</dt>
              <dd>{fact[1]}</dd>
            </div>
          ),
      )}
    </dl>
  );
}
