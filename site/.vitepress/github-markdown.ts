import { existsSync } from 'node:fs'
import { join, posix } from 'node:path'
import type { MarkdownRenderer } from 'vitepress'

type Token = ReturnType<MarkdownRenderer['parse']>[number]

interface Project {
  readonly folder: string
  /** Where files are shown that are no pages; undefined: they get no link. */
  readonly filesUrl: string | undefined
  /** Returns the path of a page in the site, or undefined if the file is no page. */
  findPage(file: string): string | undefined
}

/**
 * Makes pages written for GitHub look the same in the site: rewrites their links, and shows text as it is that would be a
 * template of Vue, such as `{{ name }}` and `<name>`.
 */
export function useGithubMarkdown(markdown: MarkdownRenderer, project: Project): void {
  const { rules } = markdown.renderer
  for (const type of ['text', 'code_inline', 'code_block']) {
    const render = rules[type]
    rules[type] = (...parameters) => render?.(...parameters).replaceAll('{', '&#123;') ?? ''
  }
  // Before VitePress looks at links and anchors.
  markdown.core.ruler.after('inline', 'github', ({ tokens, env }) => {
    const file = posix.relative(project.folder, env.realPath ?? env.path)
    labelCells(tokens)
    for (const token of tokens) {
      if (token.children !== null) token.children = token.children.filter(rewriteLinks(file, project))
      for (const part of [token, ...(token.children ?? [])]) {
        showTags(part)
        // Not to be broken in a narrow column.
        if (part.type === 'code_inline' && part.content.length < 24) part.attrSet('class', 'short')
      }
    }
  })
}

/** Gives each cell of a table the text of its heading, for screens on which a row is a block. */
function labelCells(tokens: readonly Token[]): void {
  let labels: string[] = []
  let column = 0
  for (const [index, token] of tokens.entries()) {
    if (token.type === 'table_open') labels = []
    if (token.type === 'tr_open') column = 0
    if (token.type === 'th_open') labels.push(tokens[index + 1]?.content ?? '')
    if (token.type === 'td_open') {
      const label = labels[column++]
      if (label) token.attrSet('data-label', label.replaceAll('`', ''))
    }
  }
}

/** Turns HTML into text, except comments. */
function showTags(token: Token): void {
  if (/^html_/.test(token.type) && !token.content.trimStart().startsWith('<!--')) token.type = 'text'
}

/** Returns a filter of tokens that rewrites links of that file, and leaves out those that lead nowhere in the site. */
function rewriteLinks(file: string, project: Project): (token: Token) => boolean {
  let isKept = true
  return (token) => {
    if (token.type === 'link_open') {
      const href = rewriteLink(token.attrGet('href') ?? '', file, project)
      isKept = href !== undefined
      if (href !== undefined) token.attrSet('href', href)
    }
    return isKept || (token.type !== 'link_open' && token.type !== 'link_close')
  }
}

function rewriteLink(
  href: string,
  file: string,
  { folder, filesUrl, findPage }: Project,
): string | undefined {
  if (/^([a-z]+:|#)/.test(href)) return href
  const [path = '', anchor] = href.split('#')
  const target = posix.join(posix.dirname(file), path)
  // A missing file stays what it is, so that the build fails.
  if (!existsSync(join(folder, decodeURIComponent(target)))) return href
  const page = findPage(target.replace(/\/$/, ''))
  const url = page === undefined ? filesUrl && `${filesUrl}/${target}` : `/${page}`
  return url && (anchor === undefined ? url : `${url}#${anchor}`)
}
