import { relative } from 'node:path'

/** Returns the command line that runs this program again from the current folder. */
export function programInvocation(): string {
  const [, program = 'catalog-gateway'] = process.argv
  const near = relative(process.cwd(), program)
  return `node ${quoteShellWord(near.startsWith('..') ? program : near)}`
}

export function quoteShellWord(text: string): string {
  return /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}
