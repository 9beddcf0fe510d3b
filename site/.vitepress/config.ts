import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitepress'
import { useGithubMarkdown } from './github-markdown.ts'
import { toHeadingAnchor } from './heading-anchor.ts'
import { sidebar } from './sidebar.ts'

const folder = fileURLToPath(new URL('../../', import.meta.url))
const pages = new Set(['/', ...sidebar.flatMap(({ items = [] }) => items.map(({ link }) => link))])
const repositoryUrl = findRepository()

/** A page loads nothing from other hosts. The theme has inline scripts and styles. */
const contentSecurityPolicy = "default-src 'self' 'unsafe-inline'; img-src 'self' data:"

/** Returns the address that the package names, or else that of the repository of a GitHub workflow. */
function findRepository(): string | undefined {
  const { repository } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    readonly repository?: { readonly url: string }
  }
  const { GITHUB_SERVER_URL, GITHUB_REPOSITORY } = process.env
  const ofWorkflow = GITHUB_REPOSITORY && `${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}`
  return repository?.url.replace(/^git\+/, '').replace(/\.git$/, '') ?? ofWorkflow
}

/** Returns the path of a file or folder in the site, such as `examples/compose/` for its README. */
function findPage(file: string): string | undefined {
  const readme = existsSync(join(folder, file, 'README.md')) ? `${file}/README.md` : file
  const page = readme.replace(/^\.\//, '').replace(/(README)?\.md$/, '')
  return readme.endsWith('.md') && pages.has(`/${page}`) ? page : undefined
}

export default defineConfig({
  title: 'catalog-gateway',
  description: 'A reverse proxy and policy gateway in front of table catalogs',
  head: [
    ['link', { rel: 'icon', href: '/logo.svg' }],
    ['meta', { 'http-equiv': 'Content-Security-Policy', content: contentSecurityPolicy }],
  ],
  srcDir: '..',
  // The start page takes the place of README.md.
  srcExclude: ['{bench,test}/**', 'src/*/**', 'README.md'],
  rewrites: (page) => page.replace(/^site\/|README(?=\.md$)/, (part) => (part === 'README' ? 'index' : '')),
  cacheDir: '../node_modules/.vitepress',
  vite: {
    publicDir: join(folder, 'site/public'),
    plugins: [
      {
        // Pages above this folder cannot see its packages; the bundle that renders them can.
        name: 'vue-of-the-site',
        enforce: 'pre',
        resolveId: (name, _importer, { ssr }) =>
          ssr === true && /^vue(\/|$)/.test(name) ? { id: name, external: true } : undefined,
      },
    ],
  },
  markdown: {
    linkify: false,
    attrs: { disable: true },
    anchor: { slugify: toHeadingAnchor },
    config: (markdown) =>
      useGithubMarkdown(markdown, {
        folder,
        filesUrl: repositoryUrl && `${repositoryUrl}/blob/main`,
        findPage,
      }),
  },
  themeConfig: {
    logo: '/logo.svg',
    nav: [
      { text: 'Get started', link: '/docs/getting-started' },
      { text: 'Why was I denied?', link: '/docs/troubleshooting' },
      { text: 'Settings', link: '/CONFIGURATION' },
    ],
    sidebar,
    outline: [2, 3],
    search: { provider: 'local' },
    ...(repositoryUrl && { socialLinks: [{ icon: 'github', link: repositoryUrl }] }),
  },
})
