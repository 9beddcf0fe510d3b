import { readFileSync } from 'node:fs'
import type { DefaultTheme } from 'vitepress'

/** Every page of the site by task, as its file without `.md`; a page is called what its first heading says. */
const pagesByTask: Readonly<Record<string, readonly string[]>> = {
  'Get started': ['README', 'docs/getting-started', 'examples/compose/README'],
  Concepts: ['docs/concepts', 'src/README'],
  Policies: ['policies/README', 'docs/recipes', 'docs/personal-data'],
  Identity: ['docs/authentication', 'docs/identity-providers'],
  Upstreams: ['docs/upstreams', 'docs/catalog', 'docs/networks', 'docs/pass-through'],
  Clients: [
    'docs/clients/README',
    'docs/clients/python',
    'docs/clients/javascript',
    'docs/clients/rust',
    'docs/clients/java',
    'docs/clients/go',
    'docs/clients/spark',
  ],
  Audit: ['docs/audit'],
  Operate: [
    'docs/operations',
    'docs/observability',
    'docs/alerts',
    'docs/console',
    'docs/troubleshooting',
    'docs/limits',
    'docs/connections',
    'docs/workers',
    'docs/performance',
  ],
  Kubernetes: [
    'helm/catalog-gateway/README',
    'docs/kubernetes-policies',
    'docs/policy-webhook',
    'examples/kubernetes/README',
  ],
  Reference: ['CONFIGURATION', 'docs/files', 'docs/embedding', 'examples/embed/README', 'CHANGELOG'],
  Security: ['docs/security', 'SECURITY', 'CONTRIBUTING'],
}

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
