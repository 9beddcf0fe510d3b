import { readFile } from 'node:fs/promises'
import { listCodeBlocks } from '../support/code-blocks.ts'

/** Returns the program of `docs/clients.md` in a code block with that label. */
export async function findProgram(label: string): Promise<string> {
  const text = await readFile(new URL('../../docs/clients.md', import.meta.url), 'utf8')
  const [program] = listCodeBlocks(text, label)
  if (program === undefined) throw new Error(`docs/clients.md has no program ${label}`)
  return program
}

/** Returns a program of `examples/clients`, which `docs/clients.md` names. */
export function readExample(file: string): Promise<string> {
  return readFile(new URL(`../../examples/clients/${file}`, import.meta.url), 'utf8')
}
