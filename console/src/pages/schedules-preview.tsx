import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { ProblemError } from "../../../src/client/errors.ts";
import type { InputError } from "../../../src/core/model/problem.ts";
import { Curl } from "../parts/curl.tsx";
import { Failure } from "../parts/layout.tsx";
import { type Rule, ruleWords } from "../rule-words.ts";
import { api, tenant } from "../session.ts";
import { isShown } from "./schedules-fields.tsx";
import { TimesTable } from "./schedules-times.tsx";

/** Times that the preview lists, and its wait for further keys, in milliseconds. */
const previewTimes = 20;
const previewWaitMs = 300;

/** Faults of the request that an error of the API names. */
export const problemsOf = (error: Error | undefined): readonly InputError[] =>
  error instanceof ProblemError ? error.errors : [];

interface Preview {
  times: readonly string[] | undefined;
  error: Error | undefined;
}

/** The times of a rule while it is entered. The last times stay until the next answer. */
export function usePreview(rule: Rule): Preview {
  const state = useSignal<Preview>({ times: undefined, error: undefined });
  const key = JSON.stringify([rule, tenant.value]);
  useEffect(() => {
    let isOver = false;
    const read = async () => {
      try {
        const body = { ...rule, count: previewTimes };
        const { next } = await api.send<{ next: string[] }>("POST", "/schedules/preview", body);
        if (!isOver) state.value = { times: next, error: undefined };
      } catch (error) {
        if (!isOver) state.value = { times: undefined, error: error as Error };
      }
    };
    const timer = setTimeout(read, previewWaitMs);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [key]);
  return state.value;
}

/** The rule in words, and its times. */
export function PreviewOf({ rule, preview: { times, error } }: { rule: Rule; preview: Preview }) {
  const faults = problemsOf(error);
  if (error !== undefined && faults.length > 0 && faults.every(isShown)) {
    return <p class="muted">The rule cannot be read yet: see its fields.</p>;
  }
  if (error !== undefined) return <Failure error={error} />;
  if (times === undefined) return <p class="muted">Loading …</p>;
  return (
    <>
      <p class="rule-words" role="status">
        {ruleWords(rule)}
      </p>
      <TimesTable times={times} rule={rule} label="Preview of the next times" />
      <Curl of={{ method: "POST", path: "/schedules/preview", body: { ...rule, count: previewTimes } }} />
    </>
  );
}
