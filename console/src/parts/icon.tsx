/** Shapes of an icon: lines, filled areas, and lines in the colour of the page that are cut out of them. */
interface Shapes {
  line?: string;
  fill?: string;
  cut?: string;
  /** A line in a pale shade of the colour. */
  pale?: string;
}

const octagon = "M5.6 1.5h4.8l1 .3 3.1 3.1.3 1v4.8l-.3 1-3.1 3.1-1 .3H5.6l-1-.3-3.1-3.1-.3-1V5.9l.3-1 3.1-3.1z";
const ring = "M2.3 8a5.7 5.7 0 1 0 11.4 0a5.7 5.7 0 1 0-11.4 0";
const disc = "M1.5 8a6.5 6.5 0 1 0 13 0a6.5 6.5 0 1 0-13 0";
const square =
  "M4.7 2.3h6.6a2.4 2.4 0 0 1 2.4 2.4v6.6a2.4 2.4 0 0 1-2.4 2.4H4.7a2.4 2.4 0 0 1-2.4-2.4V4.7a2.4 2.4 0 0 1 2.4-2.4z";
const hourglass =
  "M4 2.3h8M4 13.7h8M5.2 2.3v1.9c0 1.6 2.8 2.5 2.8 3.8s-2.8 2.2-2.8 3.8v1.9M10.8 2.3v1.9c0 1.6-2.8 2.5-2.8 3.8s2.8 2.2 2.8 3.8v1.9";
const completed: Shapes = { fill: disc, cut: "m5.2 8.3 2 2 3.7-4.2" };
const failed: Shapes = { fill: octagon, cut: "m5.9 5.9 4.2 4.2m0-4.2-4.2 4.2" };
const cancelled: Shapes = { line: `${ring}M4.2 11.8l7.6-7.6` };
const triangle = "M7.1 2.2a1 1 0 0 1 1.8 0l5.5 10.2a1 1 0 0 1-.9 1.5h-11a1 1 0 0 1-.9-1.5z";

/** All icons, on a field of 16 by 16. States have a shape of their own each, besides their colour. */
const icons = {
  overview: { line: "M2 9h2.6l2-5.5 3 9L11.6 9H14" },
  tasks: { line: "M6 4h7.5M6 8h7.5M6 12h7.5M2.8 4h.01M2.8 8h.01M2.8 12h.01" },
  "dead-letters": {
    line: "M2.5 9.5 4.3 3.6a1 1 0 0 1 1-.7h5.4a1 1 0 0 1 1 .7l1.8 5.9v2.6a1 1 0 0 1-1 1h-9a1 1 0 0 1-1-1zM2.5 9.5h3l1 1.7h3l1-1.7h3",
  },
  schedules: {
    line: "M4 3h8a1.5 1.5 0 0 1 1.5 1.5V12a1.5 1.5 0 0 1-1.5 1.5H4A1.5 1.5 0 0 1 2.5 12V4.5A1.5 1.5 0 0 1 4 3zM2.5 6.3h11M5.5 1.8v2.4M10.5 1.8v2.4",
  },
  submit: { line: "M8 3v10M3 8h10" },
  search: { line: "M2.7 7a4.3 4.3 0 1 0 8.6 0a4.3 4.3 0 1 0-8.6 0M10.3 10.3l3.2 3.2" },
  types: { line: "M8 1.9 13.3 5v6L8 14.1 2.7 11V5zM2.9 5.1 8 8l5.1-2.9M8 8v6" },
  queues: { line: "m8 2.2 5.8 3L8 8.2l-5.8-3zM2.2 8 8 11l5.8-3M2.2 10.8l5.8 3 5.8-3" },
  webhooks: {
    line: "M6.2 9.8 9.8 6.2M7 4.6l1.6-1.6a3.1 3.1 0 0 1 4.4 4.4L11.4 9M9 11.4 7.4 13A3.1 3.1 0 0 1 3 8.6L4.6 7",
  },
  tenants: {
    line: "M2.5 13.5v-10a1 1 0 0 1 1-1h5a1 1 0 0 1 1 1v10M9.5 6.5h3a1 1 0 0 1 1 1v6M1.5 13.5h13M5 5.5h2M5 8h2M5 10.5h2",
  },
  keys: { line: "M2.5 10.8a2.7 2.7 0 1 0 5.4 0a2.7 2.7 0 1 0-5.4 0M7.2 8.8l6-6M11 5l1.8 1.8M9.4 6.6l1 1" },
  audit: {
    line: "M4 2.5h6l2.5 2.5v8.5h-8.5a1 1 0 0 1-1-1v-9a1 1 0 0 1 1-1zM5.5 7h5M5.5 9.5h5M5.5 4.6h2",
  },
  user: { line: "M5.4 5.4a2.6 2.6 0 1 0 5.2 0a2.6 2.6 0 1 0-5.2 0M3 13.5c.5-2.6 2.4-4 5-4s4.5 1.4 5 4" },
  leave: { line: "M6.5 13.5h-3a1 1 0 0 1-1-1v-9a1 1 0 0 1 1-1h3M10.5 11l3-3-3-3M13.2 8H6.5" },
  x: { line: "m4 4 8 8M12 4l-8 8" },
  pending: { line: ring },
  scheduled: { line: `${ring}M8 4.9v3.3l2.2 1.3` },
  processing: { pale: "M2.4 8a5.6 5.6 0 1 0 11.2 0a5.6 5.6 0 1 0-11.2 0", line: "M8 2.4A5.6 5.6 0 0 1 13.6 8" },
  waiting: { line: hourglass },
  asleep: {
    fill: "M13.7 9.9A6 6 0 1 1 6.1 2.3a.5.5 0 0 1 .6.6A4.9 4.9 0 0 0 13.1 9.3a.5.5 0 0 1 .6.6z",
  },
  retrying: { line: "M13.3 8.3a5.3 5.3 0 1 1-1.5-4M13 1.9v3.1H9.9" },
  completed,
  delivered: completed,
  healthy: completed,
  failed,
  failing: failed,
  cancelled,
  disabled: cancelled,
  expired: { line: `${square}M5.8 5.8l4.4 4.4m0-4.4-4.4 4.4` },
  paused: { fill: square, cut: "M6.3 5.3v5.4M9.7 5.3v5.4" },
  breaker: { line: "M8 1.8v5.4M11.7 4a5.4 5.4 0 1 1-7.4 0" },
  open: { line: "M3.8 8a4.2 4.2 0 1 0 8.4 0a4.2 4.2 0 1 0-8.4 0" },
  warn: { fill: triangle, cut: "M8 6v3.4M8 11.6h.01" },
} satisfies Record<string, Shapes>;

export type IconName = keyof typeof icons;

export const isIcon = (name: string): name is IconName => Object.hasOwn(icons, name);

/** An icon beside a word that says the same: readers of the screen do not hear it. */
export function Icon({ of }: { of: IconName }) {
  const { line, fill, cut, pale }: Shapes = icons[of];
  return (
    <svg class={`i c-${of}`} viewBox="0 0 16 16" aria-hidden="true">
      {pale && <path class="line pale" d={pale} />}
      {fill && <path class="fill" d={fill} />}
      {line && <path class="line" d={line} />}
      {cut && <path class="line cut" d={cut} />}
    </svg>
  );
}

/** The mark of Offload: work that is handed on. */
export const Logo = () => (
  <svg class="logo" viewBox="0 0 20 20" aria-hidden="true">
    <rect width="20" height="20" rx="5.5" />
    <path d="M4.6 6.2h8.2M4.6 10h5M9.2 13.8h6.2m-2.3-2.5 2.5 2.5-2.5 2.5" />
  </svg>
);
