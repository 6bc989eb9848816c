/** Tenants that are named. The others are a number. */
const mostNamed = 4;

/** The tenants of the tasks that a list has read, those with the most first. A list of one tenant has none. */
export function sharesText(tasks: readonly { tenant_id?: string | undefined }[]): string {
  const counts = new Map<string, number>();
  for (const { tenant_id: of } of tasks) if (of !== undefined) counts.set(of, (counts.get(of) ?? 0) + 1);
  const all = [...counts].sort(([one, many], [other, more]) => more - many || (one < other ? -1 : 1));
  const named = all.slice(0, mostNamed).map(([tenant, number]) => `${tenant} ${number}`);
  const rest = all.slice(mostNamed).reduce((sum, [, number]) => sum + number, 0);
  const others = rest === 0 ? [] : [`${all.length - mostNamed} others ${rest}`];
  return [...named, ...others].join(", ");
}
