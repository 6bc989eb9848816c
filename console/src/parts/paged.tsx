import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import type { Query } from "../../../src/client/transport.ts";
import { api, type PathOf, tenant } from "../session.ts";
import { Curl } from "./curl.tsx";
import { Failure, Loading, Nothing, Page } from "./layout.tsx";
import { Table, type TableProps } from "./table.tsx";

/** Rows that a list of pages holds at most. A filter finds what is further down. */
const mostRows = 2_000;

/** A list that the API answers in pages, of which the reader asks for more. */
export interface Paged<Row> {
  /** The first page, as a request. */
  request: { path: string; query: Query };
  rows: readonly Row[];
  error: Error | undefined;
  loading: boolean;
  /** True when the list has more rows, and the page may hold them. */
  hasMore: boolean;
  more: () => void;
  reload: () => void;
}

/** Reads a list of the API page by page. @param member Name of the rows in the answer. */
export function usePaged<Row>(path: PathOf<"GET">, member: string, query: Query = {}): Paged<Row> {
  const key = JSON.stringify([path, query, tenant.value]);
  const state = useSignal<{ key: string; rows: readonly Row[]; next: string | null; error?: Error; loading: boolean }>({
    ...{ key, rows: [], next: null, loading: true },
  });
  const read = async (from: string | undefined, before: readonly Row[]) => {
    const isCurrent = () => state.value.key === key;
    try {
      const page = await api.get<Record<string, unknown>>(path, { ...query, limit: 100, cursor: from });
      const rows = [...before, ...(page[member] as Row[])];
      if (isCurrent()) state.value = { key, rows, next: (page.next_cursor as string | null) ?? null, loading: false };
    } catch (error) {
      if (isCurrent()) state.value = { ...state.value, error: error as Error, loading: false };
    }
  };
  const start = () => {
    state.value = { key, rows: state.value.key === key ? state.value.rows : [], next: null, loading: true };
    void read(undefined, []);
  };
  useEffect(start, [key]);
  const { rows, next, error, loading, key: of } = state.value;
  return {
    request: { path, query },
    rows: of === key ? rows : [],
    error,
    loading: loading || of !== key,
    hasMore: next !== null && rows.length < mostRows,
    more: () => {
      if (next === null || loading) return;
      state.value = { ...state.value, loading: true };
      void read(next, rows);
    },
    reload: start,
  };
}

/** The rows of a list, its errors, and the button for more. */
export function PagedRows<Row>({
  of,
  nothing,
  children,
}: {
  of: Paged<Row>;
  /** Words for an empty list. */
  nothing: ComponentChildren;
  children: (rows: readonly Row[]) => ComponentChildren;
}) {
  const { rows, error, loading, hasMore } = of;
  return (
    <>
      {error !== undefined && <Failure error={error} />}
      {rows.length > 0 && children(rows)}
      {rows.length === 0 && !loading && error === undefined && !hasMore && <Nothing>{nothing}</Nothing>}
      {loading && <Loading />}
      {hasMore && !loading && (
        <button type="button" onClick={of.more}>
          More
        </button>
      )}
    </>
  );
}

interface ListProps<Row> extends Omit<TableProps<Row>, "rows"> {
  of: Paged<Row>;
  /** Words for an empty list. */
  nothing: ComponentChildren;
}

/** A list of the API as a table. */
export const PagedTable = <Row,>({ of, nothing, ...table }: ListProps<Row>) => (
  <PagedRows of={of} nothing={nothing}>
    {(rows) => <Table {...table} rows={rows} />}
  </PagedRows>
);

/** A page that is one list of the API. Its children are filters; its dialogs stand at the end. */
export const ListPage = <Row,>({
  title,
  state,
  actions,
  children,
  dialogs,
  ...list
}: ListProps<Row> & {
  title: string;
  /** Before the title in the window's. */
  state?: string | undefined;
  actions?: ComponentChildren;
  children?: ComponentChildren;
  dialogs?: ComponentChildren;
}) => (
  <Page {...{ title, state, actions }}>
    {children}
    <section class="card">
      <PagedTable {...list} />
    </section>
    <Curl of={list.of.request} />
    {dialogs}
  </Page>
);
