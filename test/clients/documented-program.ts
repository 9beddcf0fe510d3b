import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { listCodeBlocks } from '../support/code-blocks.ts'

const pages = new URL('../../docs/clients/', import.meta.url)

/** Returns the program of a page of `docs/clients` in a code block with that label. */
export async function findProgram(page: string, label: string): Promise<string> {
  const text = await readFile(fileURLToPath(new URL(page, pages)), 'utf8')
  const [program] = listCodeBlocks(text, label)
  if (program === undefined) throw new Error(`docs/clients/${page} has no program ${label}`)
  return program
}
