type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** A route in the table: its method and its path, and perhaps notes. A step in braces matches any text. */
export type Row = `${Method} /${string}`;

/**
 * A note of a route. `open`: it needs no token. `viewers`: it changes nothing, although it is no GET, so viewers may
 * send it. The others are about the audit, which has each request that changes something: `body`: with its body, which
 * has no input of a task; `all`: as an act on all tenants; `read`: although it only reads; `silent`: not at all.
 */
export type Note = "open" | "viewers" | "body" | "all" | "read" | "silent";
