/**
 * The error for a wrong setting of the app. When the `cdk` command runs the app and nothing catches the error, the app
 * ends with one line instead of a stack trace.
 */
export function settingError(message: string): TypeError {
  return inOneLine(new TypeError(message));
}

/** Makes an error end the app with its message alone. Other errors keep their stack trace. */
export function inOneLine<E extends Error>(error: E): E {
  // Only then is this process the app's own. In a test, the listener would outlive the error.
  if (process.env.CDK_OUTDIR === undefined) return error;
  process.prependOnceListener("uncaughtException", (thrown) => {
    console.error(thrown === error ? `Error: ${error.message}` : thrown);
    process.exit(1);
  });
  return error;
}
