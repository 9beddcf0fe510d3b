import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

/** Settings that name files to read, according to the reference that is generated from the schema. */
function listFileSettings(): readonly string[] {
  const settings = [...read('CONFIGURATION.md').matchAll(/^- `([^`]+)`/gm)].map(([, name = '']) => name)
  return settings.filter((name) => /(File|Files|\.file|apiKeys\.store|policies\.\w*[fF]older)$/.test(name))
}

/** Settings in the list of files; `*` stands for any last part. */
function listNamed(): readonly string[] {
  const [, list = ''] = /A change takes effect:\n\n(.*?)\n\n/s.exec(read('docs/operations.md')) ?? []
  return [...list.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name)
}

const covers = (name: string, setting: string): boolean =>
  name.endsWith('.*') ? setting.startsWith(name.slice(0, -1)) : name === setting

it('docs/operations.md says of every file in the settings when a change takes effect', () => {
  const [settings, names] = [listFileSettings(), listNamed()]
  expect(settings).toContain('upstream.credential.file')
  expect(settings.filter((setting) => !names.some((name) => covers(name, setting)))).toEqual([])
  expect(names.filter((name) => !settings.some((setting) => covers(name, setting)))).toEqual([])
})
