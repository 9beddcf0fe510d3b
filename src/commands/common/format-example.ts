/** Formats commands as typed for the end of a help text. */
export function formatExample(...commands: readonly string[]): string {
  return ['\nExample:', ...commands].join('\n  ')
}
