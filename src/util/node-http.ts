/*
 * Node's modules http and https, taken without an import. For an import, Node reads all exports of the module, also
 * those behind getters, and so loads undici at each start of a function. Their functions are called as members, as
 * tools that watch requests replace these.
 */

export const http = process.getBuiltinModule("node:http");
export const https = process.getBuiltinModule("node:https");
