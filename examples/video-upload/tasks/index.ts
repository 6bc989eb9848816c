/* The task types, for typed clients: `createClient<typeof tasks>()`. Add a line for each type. */
export { default as videoEncode } from "./video.encode.ts";
export { default as videoRendition } from "./video.rendition.ts";
