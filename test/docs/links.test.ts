import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { expect, it } from 'vitest'
import { toHeadingAnchor } from '../../site/.vitepress/heading-anchor.ts'
import { projectFolder } from '../e2e/built-program.ts'

const pages = readdirSync(projectFolder, { withFileTypes: true })
  .filter(({ name }) => !['.git', 'dist', 'node_modules'].includes(name))
  .flatMap((entry) => (entry.isDirectory() ? listFiles(entry.name) : [entry.name]))
  .filter((file) => file.endsWith('.md') && !/\/(node_modules|dist)\//.test(file))

function listFiles(folder: string): readonly string[] {
  const files = readdirSync(join(projectFolder, folder), { recursive: true, encoding: 'utf8' })
  return files.map((file) => join(folder, file))
}

/** Returns the text of a page without its code blocks. */
function readProse(page: string): string {
  return readFileSync(join(projectFolder, page), 'utf8').replaceAll(/^ *(```+)[^`\n]*\n.*?^ *\1$/gms, '')
}

/** Returns the targets of the links and images in a text, except those in code and those of other hosts. */
function listTargets(prose: string): readonly string[] {
  const links = prose
    .replaceAll(/(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)/gs, '')
    .matchAll(/\]\(\s*<?([^\s)>]+)|^\[[^\]]+\]: *(\S+)/gm)
  return [...links]
    .map(([, inline, reference]) => inline ?? reference ?? '')
    .filter((target) => !/^[a-z]+:/.test(target))
}

/** Returns the anchors of the headings of a page, by the rule of GitHub. */
function listAnchors(page: string): ReadonlySet<string> {
  const anchors = new Set<string>()
  for (const [, heading = ''] of readProse(page).matchAll(/^#{1,6} +(.*?)(?: +#+)? *$/gm)) {
    const text = heading.replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    const slug = toHeadingAnchor(text)
    let anchor = slug
    for (let count = 1; anchors.has(anchor); count++) anchor = `${slug}-${count}`
    anchors.add(anchor)
  }
  return anchors
}

/** Returns why a link of a page leads nowhere, or undefined if it leads somewhere. */
function findProblem(page: string, target: string): string | undefined {
  const [path = '', anchor] = target.split('#')
  const file = path === '' ? page : normalize(join(dirname(page), decodeURIComponent(path)))
  const onDisk = join(projectFolder, file)
  if (file.startsWith('..') || !existsSync(onDisk)) return `${page}: ${target}: no such file`
  if (anchor === undefined || !file.endsWith('.md') || statSync(onDisk).isDirectory()) return undefined
  return listAnchors(file).has(anchor) ? undefined : `${page}: ${target}: no such heading`
}

it('every relative link in a Markdown file leads to a file and a heading', () => {
  const links = pages.flatMap((page) => listTargets(readProse(page)).map((target) => ({ page, target })))
  expect(pages).toContain('examples/compose/README.md')
  expect(links.length).toBeGreaterThan(100)
  expect(links.map(({ page, target }) => findProblem(page, target)).filter(Boolean)).toEqual([])
})
