import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { hasBrowser, startBrowser } from '../console/browser.ts'
import { projectFolder } from '../e2e/built-program.ts'
import { isProvided } from '../support/requirements.ts'
import { makeTemporaryFolder, removeFolder } from '../support/temporary-folder.ts'

const generator = join(projectFolder, 'site/node_modules/vitepress/bin/vitepress.js')
const isInstalled = isProvided('site', () => existsSync(generator))

describe.skipIf(!isInstalled)('the documentation site', () => {
  let folder: string
  /** Files of the site and their contents, by their path from its root. */
  let files: ReadonlyMap<string, string>
  let pages: readonly string[]

  beforeAll(async () => {
    folder = await makeTemporaryFolder()
    const repository = { GITHUB_SERVER_URL: 'https://git.example', GITHUB_REPOSITORY: 'our/project' }
    // The build fails if a link leads to no page.
    await promisify(execFile)(process.execPath, [generator, 'build', 'site', '--outDir', folder], {
      cwd: projectFolder,
      env: { ...process.env, ...repository, NODE_ENV: 'production' },
    })
    const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    const texts = names.filter((name) => /\.(html|css|js)$/.test(name))
    files = new Map(texts.map((name) => [name, readFileSync(join(folder, name), 'utf8')]))
    pages = texts.filter((name) => name.endsWith('.html') && name !== '404.html')
  }, 120_000)

  afterAll(() => removeFolder(folder))

  function read(name: string): string {
    return files.get(name) ?? ''
  }

  /** Returns where the links of a page lead; links of this site start with a slash. */
  function listLinks(page: string): readonly string[] {
    return [...read(page).matchAll(/<a\b[^>]*? href="([^"]+)"/g)].map(([, href = '']) => {
      const { origin, pathname, hash, href: url } = new URL(href, `site:///${page}`)
      return origin === 'null' ? pathname.replace(/\/$/, '/index.html') + hash : url
    })
  }

  it('has no link to a missing page or heading', () => {
    const links = pages.flatMap((page) => listLinks(page).map((link) => ({ page, link })))
    const missing = links.filter(({ link }) => {
      if (!link.startsWith('/')) return false
      const [file = '', anchor] = link.slice(1).split('#')
      return anchor === undefined
        ? !files.has(file)
        : !read(file).includes(` id="${decodeURIComponent(anchor)}"`)
    })
    expect(links.some(({ link }) => link.includes('#'))).toBe(true)
    expect(missing).toEqual([])
  })

  it('links to the repository for files that are no pages', () => {
    const repository = 'https://git.example/our/project'
    expect(listLinks('docs/operations.html')).toContain(`${repository}/blob/main/bench/results.md`)
    expect(listLinks('index.html')).toContain(repository)
  })

  it('shows text literally that looks like a template', () => {
    expect(read('helm/catalog-gateway/index.html')).toContain('>{{ .Release.Name }}</code>')
    expect(read('CONFIGURATION.html')).not.toContain('Written by')
  })

  it('loads nothing from other hosts', () => {
    for (const [name, text] of files) {
      expect(text, name).not.toMatch(/<(script|link|img|iframe)\b[^>]*\b(src|href)="(https?:)?\/\//)
      if (name.endsWith('.css')) expect(text, name).not.toMatch(/@import|url\(["']?(https?:)?\/\//)
      if (name.endsWith('.html') && name !== '404.html') expect(text, name).toContain("default-src 'self'")
    }
  })

  it.skipIf(!hasBrowser())(
    'has no page and no table that is cut on a phone or a wide screen',
    async () => {
      const browser = await startBrowser()
      onTestFinished(() => browser.close())
      const cut: string[] = []
      for (const width of [390, 1440]) {
        const page = await browser.newPage({ viewport: { width, height: 900 } })
        await page.route('**/*', (route) =>
          route.fulfill({ path: join(folder, new URL(route.request().url()).pathname) }),
        )
        for (const name of pages) {
          await page.goto(`http://site.test/${name}`)
          const overflowing = await page.evaluate<number>(
            "[document.documentElement, ...document.querySelectorAll('table')].filter((e) => e.scrollWidth > e.clientWidth).length",
          )
          if (overflowing > 0) cut.push(`${name} at ${width} px`)
        }
      }
      expect(cut).toEqual([])
    },
    60_000,
  )
})
