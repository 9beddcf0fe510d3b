import { relative } from 'node:path'

/** The command line that runs this program again, from the folder in which it was started. */
export function invocation(): string {
  const [, program = 'catalog-gateway'] = process.argv
  const near = relative(process.cwd(), program)
  return `node ${shellWord(near.startsWith('..') ? program : near)}`
}

/** The text as one word of a shell. */
export function shellWord(text: string): string {
  return /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}
