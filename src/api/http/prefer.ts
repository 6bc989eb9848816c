/** Splits a header's value at its commas, except for those in quoted texts. */
function membersOf(header: string): string[] {
  const members = [""];
  let isQuoted = false;
  let isEscaped = false;
  for (const char of header) {
    if (char === '"' && !isEscaped) isQuoted = !isQuoted;
    isEscaped = isQuoted && char === "\\" && !isEscaped;
    if (char === "," && !isQuoted) members.push("");
    else members[members.length - 1] += char;
  }
  return members;
}

/** The preference `wait`, with parameters or without a value. Names are case-insensitive. */
const named = /^[ \t]*wait[ \t]*(?:[=;]|$)/i;

/** The value of `wait`: whole seconds, as a token or quoted. */
const valued = /^[ \t]*wait[ \t]*=[ \t]*(?:(\d+)|"(\d+)")[ \t]*(?:;|$)/i;

/**
 * Reads the seconds of `wait` from a `Prefer` header (RFC 7240). Undefined: the header has no `wait`, or its value is
 * not a positive whole number. Of several, only the first counts.
 */
export function preferredWait(header: string): number | undefined {
  const first = membersOf(header).find((member) => named.test(member));
  const [, token, quoted] = valued.exec(first ?? "") ?? [];
  const seconds = Number(token ?? quoted ?? 0);
  return seconds > 0 ? seconds : undefined;
}
