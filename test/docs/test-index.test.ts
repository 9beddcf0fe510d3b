import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

it.each(['attacks'])('test/%s/README.md lists every test file of its folder, and no other', (name) => {
  const folder = new URL(`../${name}/`, import.meta.url)
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => file.slice(0, -'.test.ts'.length))
  const rows = readFileSync(new URL('README.md', folder), 'utf8').matchAll(/\|([^|]*)\|$/gm)
  const named = [...rows].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, file = '']) => file),
  )
  const own = named.filter((file) => !file.startsWith('../'))
  expect(new Set(own)).toEqual(new Set(files))
  const missing = named.filter((file) => !existsSync(new URL(`${file}.test.ts`, folder)))
  expect(missing).toEqual([])
})
