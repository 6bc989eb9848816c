/** Longest file name in a header, in characters. */
const longest = 200;

/**
 * Returns a `Content-Disposition` header for a file name of any text (RFC 6266). `filename*` has the name in UTF-8;
 * `filename`, for old clients, has an underscore for each other character. Folders, control characters and quotes
 * cannot get into the header.
 */
export function contentDisposition(fileName: string, type: "attachment" | "inline" = "attachment"): string {
  const name = safeName(fileName);
  const ascii = name.replaceAll(/[^\x20-\x7e]|["\\%]/gu, "_");
  const encoded = encodeURIComponent(name).replaceAll(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `${type}; filename="${ascii}"${ascii === name ? "" : `; filename*=UTF-8''${encoded}`}`;
}

/** The last part of a path, without characters that change how a name is shown or that a header cannot have. */
function safeName(fileName: string): string {
  const last = fileName.split(/[/\\]/).at(-1) ?? "";
  const visible = last.toWellFormed().replaceAll(/[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/gu, "");
  const trimmed = Array.from(visible.trim()).slice(0, longest).join("");
  return /^\.*$/.test(trimmed) ? "file" : trimmed;
}
