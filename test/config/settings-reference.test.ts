import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { settingsReference, settingsWithoutDescription, unknownCommonSettings } from './settings-reference.ts'

it('CONFIGURATION.md matches the code; npm run reference writes it', async () => {
  const file = await readFile(new URL('../../CONFIGURATION.md', import.meta.url), 'utf8')
  expect(file).toBe(settingsReference())
})

it('every setting has a description', () => {
  expect(settingsWithoutDescription()).toEqual([])
})

it('every common setting exists', () => {
  expect(unknownCommonSettings()).toEqual([])
})
