import { readdirSync } from 'node:fs'
import { expect, it } from 'vitest'
import { pagesByTask } from '../../site/.vitepress/pages-by-task.ts'

const listed = Object.values(pagesByTask).flat()

it.each(['docs', 'examples'])(
  'site/.vitepress/pages-by-task.ts lists every page in %s, and no other',
  (name) => {
    const pages = readdirSync(new URL(`../../${name}`, import.meta.url), {
      recursive: true,
      encoding: 'utf8',
    })
      .filter((file) => file.endsWith('.md') && !file.includes('node_modules'))
      .map((file) => `${name}/${file.slice(0, -'.md'.length)}`)
    expect(listed.filter((page) => page.startsWith(`${name}/`)).toSorted()).toEqual(pages.toSorted())
  },
)
