/** Whether the error is one of the operating system with that code, such as `ENOENT`. */
export function isCode(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code))
}

/** For `catch`: a file that is not there is undefined. */
export function ignoreMissing(error: unknown): undefined {
  if (!isCode(error, 'ENOENT')) throw error
}
