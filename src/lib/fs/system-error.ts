/** Whether the error is one of the operating system with that code, such as `ENOENT`. */
export function hasErrorCode(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code))
}

/** For `catch`: a file that is not there is undefined. */
export function ignoreMissing(error: unknown): undefined {
  if (!hasErrorCode(error, 'ENOENT')) throw error
}
