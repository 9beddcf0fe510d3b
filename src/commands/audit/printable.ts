/** Replaces control characters: callers choose some of the text, which must not move the cursor of a terminal. */
export function printable(text: string): string {
  return text.replaceAll(/\p{C}/gu, '?')
}
