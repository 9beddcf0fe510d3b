import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

/** Settings that name files to read, according to the reference that is generated from the schema. */
function listFileSettings(): readonly string[] {
  const settings = [...read('CONFIGURATION.md').matchAll(/^\| `([^`]+)`/gm)].map(([, name = '']) => name)
  return settings.filter((name) => /(File|Files|\.file|apiKeys\.store|policies\.\w*[fF]older)$/.test(name))
}

/** Settings in the first column of the table of files; `*` stands for any last part. */
function listRows(): readonly string[] {
  const cells = [...read('docs/operations.md').matchAll(/^\| (`[^|]+)\|/gm)].map(([, cell = '']) => cell)
  return cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name))
}

const covers = (row: string, setting: string): boolean =>
  row.endsWith('.*') ? setting.startsWith(row.slice(0, -1)) : row === setting

it('docs/operations.md says of every file in the settings when a change takes effect', () => {
  const [settings, rows] = [listFileSettings(), listRows()]
  expect(settings).toContain('upstream.credential.file')
  expect(settings.filter((setting) => !rows.some((row) => covers(row, setting)))).toEqual([])
  expect(rows.filter((row) => !settings.some((setting) => covers(row, setting)))).toEqual([])
})
