/**
 * Parses an entry of the allowed hosts, such as `127.0.0.1:9000`, `[::1]:9000` or `receiver.internal:443`. Returns it
 * as `hostAndPort` writes it; undefined: it is not a host with a port.
 */
export function parseAllowedHost(text: string): string | undefined {
  const [, host = "", digits = ""] = /^(\[[\da-f:.]+\]|[\w.-]+):(\d{1,5})$/i.exec(text) ?? [];
  const port = Number(digits);
  if (port < 1 || port > 65_535 || !URL.canParse(`http://${host}`)) return undefined;
  return `${hostOf(new URL(`http://${host}`))}:${port}`;
}

/** The host of a URL in lower case, without the dot that can end a name. An IPv6 address keeps its brackets. */
export const hostOf = ({ hostname }: URL): string => hostname.replace(/\.$/, "");

/** The port of an `http` or `https` URL. */
export const portOf = ({ protocol, port }: URL): number =>
  port === "" ? (protocol === "https:" ? 443 : 80) : Number(port);

/** Writes a URL's host and port as an entry of the allowed hosts. */
export const hostAndPort = (url: URL): string => `${hostOf(url)}:${portOf(url)}`;
