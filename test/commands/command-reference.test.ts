import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { commandReference } from './command-reference.ts'

it('docs/commands.md matches the code; npm run reference writes it', async () => {
  const file = await readFile(new URL('../../docs/commands.md', import.meta.url), 'utf8')
  expect(file).toBe(await commandReference())
})
