/** HTTP statuses of S3's error codes. */
const statuses = {
  AccessDenied: 403,
  AuthorizationHeaderMalformed: 400,
  AuthorizationQueryParametersError: 400,
  BadDigest: 400,
  EntityTooLarge: 400,
  EntityTooSmall: 400,
  IncompleteBody: 400,
  InternalError: 500,
  InvalidAccessKeyId: 403,
  InvalidArgument: 400,
  InvalidDigest: 400,
  InvalidPart: 400,
  InvalidPartOrder: 400,
  InvalidRange: 416,
  InvalidRequest: 400,
  InvalidURI: 400,
  KeyTooLongError: 400,
  MalformedTrailerError: 400,
  MalformedXML: 400,
  MissingContentLength: 411,
  NoSuchBucket: 404,
  NoSuchKey: 404,
  NoSuchUpload: 404,
  NotImplemented: 501,
  PreconditionFailed: 412,
  RequestTimeTooSkewed: 403,
  ServiceUnavailable: 503,
  SignatureDoesNotMatch: 403,
  XAmzContentSHA256Mismatch: 400,
} as const;

export type S3Code = keyof typeof statuses;

/** An error that S3 answers. `details` are further elements of its XML. */
export class S3Error extends Error {
  readonly code: S3Code;
  readonly status: number;
  readonly details: Readonly<Record<string, string | number>>;

  constructor(code: S3Code, message: string, details: Readonly<Record<string, string | number>> = {}) {
    super(message);
    this.name = "S3Error";
    this.code = code;
    this.status = statuses[code];
    this.details = details;
  }
}

/** An XML document with one level of elements below its root. A list makes one element for each of its values. */
export function xmlOf(root: string, fields: Readonly<Record<string, string | number | undefined>>): string {
  const elements = Object.entries(fields).flatMap(([name, value]) =>
    value === undefined ? [] : [`<${name}>${escapeXml(String(value))}</${name}>`],
  );
  return `<?xml version="1.0" encoding="UTF-8"?>\n<${root}>${elements.join("")}</${root}>`;
}

const escapes: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** XML has no form for most control characters: they become U+FFFD. */
const escapeXml = (text: string): string =>
  text
    .toWellFormed()
    .replaceAll(/[&<>"]/g, (char) => escapes[char] ?? char)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to replace.
    .replaceAll(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd");

const entities: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

export const unescapeXml = (text: string): string =>
  text
    .replaceAll(/&#x([0-9a-f]{1,6});/gi, (_, hex) => String.fromCodePoint(Number.parseInt(hex, 16)))
    .replaceAll(/&#(\d{1,7});/g, (_, digits) => String.fromCodePoint(Number(digits)))
    .replaceAll(/&(amp|lt|gt|quot|apos);/g, (_, name) => entities[name] ?? "");
