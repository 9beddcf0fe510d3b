import { existsSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

const root = new URL('../../', import.meta.url)
const read = (file: string) => readFileSync(new URL(file, root), 'utf8')

const files = ['CONTRIBUTING.md', 'src/README.md']

it.each([
  ['CONTRIBUTING.md', root],
  ['src/README.md', new URL('src/', root)],
] as const)('every path in %s exists', (file, folder) => {
  const paths = [...read(file).matchAll(/`([a-z][\w-]*\/[\w./-]+)`/g)].map(([, path = '']) => path)
  expect(paths.length).toBeGreaterThan(5)
  const missing = paths.filter((path) => !existsSync(new URL(path.replace(/^catalog-gateway/, '.'), folder)))
  expect(missing).toEqual([])
})

it.each(files)('every script in %s is one of package.json', (file) => {
  const { scripts } = JSON.parse(read('package.json')) as {
    readonly scripts: Readonly<Record<string, string>>
  }
  const named = [...read(file).matchAll(/npm run ([\w:-]+)/g)].map(([, name = '']) => name)
  expect(named.filter((name) => !(name in scripts))).toEqual([])
})
