import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

const narrow = matchMedia("(max-width: 760px)");

/** Rows above and below those in view that are in the page, too. */
const moreRows = 8;

/** The rows of a long list, of which only those in view are in the page. All rows have the same height. */
export function VirtualRows({
  total,
  row,
  onEnd,
  selected,
  selectedId,
  top,
  onScroll,
}: {
  total: number;
  /** Distance from the top at which the list begins, in pixels. */
  top: number;
  row: (index: number) => ComponentChildren;
  /** Called when the last rows come into view. */
  onEnd: () => void;
  /** Index of the row that must be in view. -1: none. */
  selected: number;
  /** Id of that row. When it changes, the row comes into view. */
  selectedId: string | undefined;
  /** Called with the distance from the top in pixels. */
  onScroll: (top: number) => void;
}) {
  const body = useRef<HTMLDivElement>(null);
  const { rowPixels, first, inView, measure } = useView(body, top);
  useEffect(() => {
    const element = body.current;
    if (selected < 0 || element === null) return;
    const [from, to] = [selected * rowPixels, (selected + 1) * rowPixels - element.clientHeight];
    element.scrollTop = Math.min(from, Math.max(to, element.scrollTop));
  }, [selectedId]);
  const end = Math.min(total, first + inView + moreRows);
  const start = Math.max(0, Math.min(first, total - inView) - moreRows);
  useEffect(() => {
    if (end > total - 10) onEnd();
  }, [end, total]);
  const scrolled = ({ currentTarget }: { currentTarget: HTMLElement }) => {
    measure();
    onScroll(currentTarget.scrollTop);
  };
  return (
    <div ref={body} class="body" role="rowgroup" onScroll={scrolled}>
      <Gap high={start * rowPixels} />
      {Array.from({ length: end - start }, (_, index) => row(start + index))}
      <Gap high={(total - end) * rowPixels} />
    </div>
  );
}

interface View {
  /** Height of a row, as the style sheet has it: one line, or two on a narrow screen. */
  rowPixels: number;
  /** Index of the first row in view. */
  first: number;
  /** Number of rows in view. */
  inView: number;
  /** Reads again which rows are in view. */
  measure: () => void;
}

/** The rows that are in view of an element that scrolls. @param top Distance from the top at which it begins */
function useView(body: { current: HTMLElement | null }, top: number): View {
  const [isNarrow, setNarrow] = useState(narrow.matches);
  const rowPixels = isNarrow ? 62 : 38;
  const [first, setFirst] = useState(Math.floor(top / rowPixels));
  const [inView, setInView] = useState(0);
  const measure = () => {
    const { scrollTop = 0, clientHeight = 0 } = body.current ?? {};
    setFirst(Math.floor(scrollTop / rowPixels));
    setInView(Math.ceil(clientHeight / rowPixels) + 1);
  };
  useEffect(() => {
    if (body.current !== null) body.current.scrollTop = top;
    const turn = () => setNarrow(narrow.matches);
    narrow.addEventListener("change", turn);
    return () => narrow.removeEventListener("change", turn);
  }, []);
  useEffect(() => {
    const sizes = new ResizeObserver(measure);
    if (body.current !== null) sizes.observe(body.current);
    return () => sizes.disconnect();
  }, [rowPixels]);
  return { rowPixels, first, inView, measure };
}

/** The place of the rows that are not in the page. */
const Gap = ({ high }: { high: number }) => <svg class="gap" width="1" height={Math.max(0, high)} aria-hidden="true" />;
