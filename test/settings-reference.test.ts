import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { settingsReference, settingsWithoutMeaning } from './settings-reference.ts'

test('CONFIGURATION.md says what the code says; npm run reference writes it', async () => {
  const file = await readFile(new URL('../CONFIGURATION.md', import.meta.url), 'utf8')
  expect(file).toBe(settingsReference())
})

test('of every setting is said what it means', () => {
  expect(settingsWithoutMeaning()).toEqual([])
})
