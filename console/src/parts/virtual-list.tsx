import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  Virtualizer,
  type VirtualizerOptions,
} from "@tanstack/virtual-core";
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

const narrow = matchMedia("(max-width: 760px)");

/** Height of a row in pixels, as the style sheet has it: one line, or two on a narrow screen. */
const rowPixels = () => (narrow.matches ? 62 : 38);

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
  const [, renderAgain] = useState({});
  const options = (): VirtualizerOptions<HTMLDivElement, HTMLElement> => ({
    count: total,
    getScrollElement: () => body.current,
    estimateSize: rowPixels,
    overscan: 8,
    initialOffset: top,
    observeElementRect,
    observeElementOffset,
    scrollToFn: elementScroll,
    onChange: () => renderAgain({}),
  });
  const [virtualizer] = useState(() => new Virtualizer(options()));
  virtualizer.setOptions(options());
  useEffect(() => virtualizer._didMount(), []);
  useEffect(() => {
    virtualizer._willUpdate();
  });
  useEffect(() => {
    if (selected >= 0) virtualizer.scrollToIndex(selected);
  }, [selectedId]);
  useEffect(() => {
    const measure = () => virtualizer.measure();
    narrow.addEventListener("change", measure);
    return () => narrow.removeEventListener("change", measure);
  }, []);
  const items = virtualizer.getVirtualItems();
  const last = items.at(-1)?.index ?? -1;
  useEffect(() => {
    if (last >= total - 10) onEnd();
  }, [last, total]);
  return (
    <div ref={body} class="body" role="rowgroup" onScroll={(event) => onScroll(event.currentTarget.scrollTop)}>
      <Gap high={items[0]?.start ?? 0} />
      {items.map(({ index }) => row(index))}
      <Gap high={virtualizer.getTotalSize() - (items.at(-1)?.end ?? 0)} />
    </div>
  );
}

/** The place of the rows that are not in the page. */
const Gap = ({ high }: { high: number }) => <svg class="gap" width="1" height={Math.max(0, high)} aria-hidden="true" />;
