import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitepress'
import { useGithubMarkdown } from './github-markdown.ts'
import { toHeadingAnchor } from './heading-anchor.ts'
import { sidebar } from './sidebar.ts'

const folder = fileURLToPath(new URL('../../', import.meta.url))
const pages = new Set(sidebar.flatMap(({ items = [] }) => items.map(({ link }) => link)))
/** Set by GitHub Actions. */
const { GITHUB_SERVER_URL, GITHUB_REPOSITORY } = process.env
const repositoryUrl = GITHUB_REPOSITORY && `${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}`

/** A page loads nothing from other hosts. The theme has inline scripts and styles. */
const contentSecurityPolicy = "default-src 'self' 'unsafe-inline'; img-src 'self' data:"

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
    // No icon, which a browser would ask for otherwise.
    ['link', { rel: 'icon', href: 'data:,' }],
    ['meta', { 'http-equiv': 'Content-Security-Policy', content: contentSecurityPolicy }],
  ],
  srcDir: '..',
  srcExclude: ['{site,test}/**', 'src/*/**'],
  rewrites: (page) => page.replace(/README\.md$/, 'index.md'),
  cacheDir: '../node_modules/.vitepress',
  vite: {
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
    sidebar,
    outline: [2, 3],
    search: { provider: 'local' },
    ...(repositoryUrl && { socialLinks: [{ icon: 'github', link: repositoryUrl }] }),
  },
})
