import { readFileSync } from 'node:fs'
import type { DefaultTheme } from 'vitepress'
import { pagesByTask } from './pages-by-task.ts'

export const sidebar: DefaultTheme.SidebarItem[] = Object.entries(pagesByTask).map(([text, pages]) => ({
  text,
  collapsed: false,
  items: pages.map((page) => ({ text: readTitle(`${page}.md`), link: `/${page.replace(/README$/, '')}` })),
}))

function readTitle(file: string): string {
  const page = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')
  const title = /^# (.+)$/m.exec(page)?.[1]
  if (title === undefined) throw new Error(`${file} has no first heading`)
  return title
}
