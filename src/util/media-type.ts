/**
 * A media type with optional parameters, such as `text/csv; charset=utf-8`. Its characters are ASCII: no others pass
 * all gateways unchanged.
 */
export const mediaTypePattern =
  /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+([\t ]*;[\t ]*[\w!#$&^.+-]+=([\w!#$&^.+-]+|"[\x20\x21\x23-\x5b\x5d-\x7e]*"))*$/;

/** Longest media type in characters. */
const longest = 255;

/** True for a text that can be the value of `Content-Type`. */
export const isMediaType = (text: string): boolean => text.length <= longest && mediaTypePattern.test(text);
