/** Quotes an argument for a POSIX shell. */
export function quoteForShell(text: string): string {
  return /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}
