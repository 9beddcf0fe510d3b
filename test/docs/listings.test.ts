import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { pagesByTask } from '../../site/.vitepress/pages-by-task.ts'

const root = new URL('../../', import.meta.url)
const read = (file: string) => readFileSync(new URL(file, root), 'utf8')

/** The paths of all files in a folder that end so, relative to it and without the end. */
function listFiles(folder: string, end: string): readonly string[] {
  const names = readdirSync(new URL(folder, root), { recursive: true, encoding: 'utf8' })
  const files = names.filter((file) => file.endsWith(end) && !file.includes('node_modules'))
  return files.map((file) => file.slice(0, -end.length))
}

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

it('src/README.md lists every folder of src, and no other', () => {
  const entries = readdirSync(new URL('src', root), { withFileTypes: true })
  const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => `${name}/`)
  const named = [...read('src/README.md').matchAll(/^([\w-]+\/) /gm)].map(([, name]) => name)
  expect(new Set(named)).toEqual(new Set(folders))
})

it.each(['docs', 'examples'])('the site lists every page in %s, and no other', (name) => {
  const listed = Object.values(pagesByTask).flat()
  const pages = listFiles(name, '.md').map((file) => `${name}/${file}`)
  expect(listed.filter((page) => page.startsWith(`${name}/`)).toSorted()).toEqual(pages.toSorted())
})

it('test/attacks/README.md lists every folder of attacks, and the tests elsewhere exist', () => {
  const rows = [...read('test/attacks/README.md').matchAll(/^\| ([^|]+?) +\|([^|]*)\|$/gm)]
  const names = new Set(rows.map(([, name]) => name))
  const folders = listFiles('test/attacks', '.test.ts').map((file) => file.split('/')[0])
  expect(folders.filter((folder) => !names.has(folder))).toEqual([])
  const elsewhere = rows.flatMap(([, , cell = '']) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, file]) => file),
  )
  expect(elsewhere.length).toBeGreaterThan(10)
  const missing = elsewhere.filter((file) => !existsSync(new URL(`test/attacks/${file}.test.ts`, root)))
  expect(missing).toEqual([])
})
