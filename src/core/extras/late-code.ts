/* The code of the extras that is loaded with its first use. A program with a clock of its own loads it before. */

import * as onFailedOf from "../pipeline/end/on-failed-of.ts";
import * as notices from "./notices/notices.ts";
import * as startOnFailed from "./on-failed/start.ts";
import * as collect from "./unique/collect.ts";
import * as next from "./unique/next.ts";

/** The modules as values, as in `pipeline/work/late-code.ts`. */
export const lateExtras: readonly object[] = [notices, startOnFailed, onFailedOf, next, collect];
