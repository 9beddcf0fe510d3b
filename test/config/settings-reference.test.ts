import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { settingsReference, settingsWithoutRoute } from './settings-reference.ts'

it('CONFIGURATION.md says what the code says; npm run reference writes it', async () => {
  const file = await readFile(new URL('../../CONFIGURATION.md', import.meta.url), 'utf8')
  expect(file).toBe(settingsReference())
})

it('of every setting is said what it means', () => {
  expect(settingsWithoutRoute()).toEqual([])
})
